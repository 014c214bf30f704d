package cli

import (
	"cmp"
	"context"

	"vramscope/daemon/socket"
	"vramscope/internal/panics"
	"vramscope/recording"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// takePast puts this user's recordings, or else what a daemon remembers, before the
// history of a sampler that has ticked, and warms its forecasters with them. It
// returns at the end of the context; a panic is given to failed.
func (p *program) takePast(ctx context.Context, past *recording.Joined, sampling *sampler.Sampler, src *sources, failed context.CancelCauseFunc) {
	defer func() {
		if c := panics.Catch(recover()); c != nil {
			failed(c)
		}
	}()
	var before snapshot.History
	if r, err := recording.Open(cmp.Or(p.recordings, recordingsOf(false))); err == nil {
		defer func() { _ = r.Close() }() // nothing was written
		before = r
	} else {
		src.daemon.Settle(ctx)
		before = socket.NewPast(src.daemon)
	}
	if past.Before(before) {
		sampling.Warm(before)
		<-ctx.Done()
	}
}
