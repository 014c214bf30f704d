package cli

import (
	"cmp"
	"context"

	"vramscope/internal/panics"
	"vramscope/recording"
	"vramscope/sampler"
)

// takePast puts this user's recordings before the history of a sampler that has
// ticked, and warms its forecasters with them. It returns at the end of the context;
// a panic is given to failed.
func (p *program) takePast(ctx context.Context, past *recording.Joined, sampling *sampler.Sampler, failed context.CancelCauseFunc) {
	defer func() {
		if c := panics.Catch(recover()); c != nil {
			failed(c)
		}
	}()
	r, err := recording.Open(cmp.Or(p.recordings, recordingsOf(false)))
	if err != nil {
		return // nothing is recorded, or not for this user
	}
	defer func() { _ = r.Close() }() // nothing was written
	if past.Before(r) {
		sampling.Warm(r)
		<-ctx.Done()
	}
}
