package sources

import (
	"context"
	"time"

	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// Observe takes a snapshot after watching. It leaves the driver open: the program ends.
func (src *Set) Observe(ctx context.Context, sampling *sampler.Sampler, watch time.Duration) (*snapshot.Snapshot, error) {
	if watch == 0 {
		ctx, end := src.ListenFor(ctx)
		defer end()
		snap := src.Look(ctx, sampling)
		return snap, src.Unusable(snap)
	}
	return src.ObserveUntil(ctx, sampling, watch, func(*snapshot.Snapshot) bool { return false })
}

// ObserveUntil samples until a snapshot is enough, at most for so long, and returns the last one.
func (src *Set) ObserveUntil(ctx context.Context, sampling *sampler.Sampler, most time.Duration, enough func(*snapshot.Snapshot) bool) (*snapshot.Snapshot, error) {
	ctx, end := src.ListenFor(ctx)
	defer end()
	finished := make(chan error, 1)
	go func() { finished <- sampling.Run(ctx) }()
	over := time.After(most)
	for first := true; ; first = false {
		select {
		case <-sampling.Updates():
			snap := sampling.Latest()
			if first {
				if err := src.Unusable(snap); err != nil {
					return snap, err
				}
			}
			if enough(snap) {
				return snap, nil
			}
		case err := <-finished:
			return nil, err
		case <-over:
			return sampling.Latest(), nil
		}
	}
}
