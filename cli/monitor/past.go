package monitor

import (
	"context"
	"time"

	"vramscope/cli/sources"
	"vramscope/daemon/socket"
	"vramscope/internal/panics"
	"vramscope/recording"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// takePast puts this user's recordings and what a daemon remembers before the
// history of a sampler that has ticked, and warms its forecasters with them. It
// returns at the end of the context; a panic is given to failed.
func takePast(ctx context.Context, past *recording.Joined, sampling *sampler.Sampler, src *sources.Set, failed context.CancelCauseFunc) {
	defer func() {
		if c := panics.Catch(recover()); c != nil {
			failed(c)
		}
	}()
	var own snapshot.History
	if r, err := recording.Open(src.Program.RecordingsOf(false)); err == nil {
		defer func() { _ = r.Close() }() // nothing was written
		own = r
	}
	before := own
	if own == nil || !goesOn(own, src.Program.Now()) {
		src.Daemon.Settle(ctx)
		before = pastOf(own, socket.NewPast(src.Daemon))
	}
	if past.Before(before) {
		sampling.Warm(before)
		<-ctx.Done()
	}
}

// goesOn reports whether a recording is being written: it commits every two seconds,
// and samples are at most a minute apart.
func goesOn(recorded snapshot.History, now time.Time) bool {
	_, newest := recorded.Span()
	return now.Sub(newest) < 2*time.Minute
}

// pastOf is what a daemon has and, before that, what this user's recordings have,
// which may have ended long ago. Either may have nothing.
func pastOf(own, daemon snapshot.History) snapshot.History {
	if own == nil {
		return daemon
	}
	if oldest, _ := daemon.Span(); oldest.IsZero() {
		return own
	}
	return recording.Whole(daemon, func() snapshot.History { return own })
}
