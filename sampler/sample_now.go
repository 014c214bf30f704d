package sampler

import (
	"context"
	"time"

	"vramscope/sampler/snapshot"
)

// Refresh takes a sample between two ticks of the clock and returns the
// snapshot that it published. While the sampler is suspended, or where the
// context ends first, it returns the newest snapshot that there is.
func (s *Sampler) Refresh(ctx context.Context) *snapshot.Snapshot {
	done := make(chan *snapshot.Snapshot, 1)
	sample := func() {
		if s.suspended.Load() {
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

// SampleNow takes a sample at once, and asks a lost driver and lost GPUs
// without waiting until their next try is due.
func (s *Sampler) SampleNow() {
	s.do(func() {
		if s.suspended.Load() {
			return
		}
		s.driver.state.RetryAt = time.Time{}
		for _, g := range s.driver.gpus {
			g.retryAt = time.Time{}
		}
		s.Tick(s.options.Clock())
	})
}
