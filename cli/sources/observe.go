package sources

import (
	"context"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// Observe takes a snapshot after watching. It leaves the driver open: the program ends.
func Observe(ctx context.Context, p *command.Program, src *Set, s *config.Settings, sampling *sampler.Sampler, watch time.Duration) (*snapshot.Snapshot, error) {
	if watch == 0 {
		ctx, end := src.ListenFor(ctx)
		defer end()
		snap := src.Look(ctx, sampling)
		return snap, Unusable(p, snap, src, s)
	}
	return ObserveUntil(ctx, p, src, s, sampling, watch, func(*snapshot.Snapshot) bool { return false })
}

// ObserveUntil samples until a snapshot is enough, at most for so long, and returns the last one.
func ObserveUntil(ctx context.Context, p *command.Program, src *Set, s *config.Settings, sampling *sampler.Sampler, most time.Duration, enough func(*snapshot.Snapshot) bool) (*snapshot.Snapshot, error) {
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
				if err := Unusable(p, snap, src, s); err != nil {
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
