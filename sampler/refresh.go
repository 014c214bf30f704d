package sampler

import (
	"context"

	"vramscope/sampler/snapshot"
)

// Refresh takes a sample now, between two ticks of the clock, and returns what
// it published: whoever has changed something wants to see what became of it.
// While the sampler is suspended, or when the context ends first, it is the
// newest snapshot there is.
func (s *Sampler) Refresh(ctx context.Context) *snapshot.Snapshot {
	done := make(chan *snapshot.Snapshot, 1)
	sample := func() {
		if s.isSuspended() {
			done <- s.Latest()
			return
		}
		done <- s.Tick(s.options.Clock())
	}
	select {
	case s.control <- sample:
	case <-ctx.Done():
		return s.Latest()
	}
	select {
	case snap := <-done:
		return snap
	case <-ctx.Done():
		return s.Latest()
	}
}
