package sources

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"vramscope/daemon"
	"vramscope/guard"
	"vramscope/guard/runner"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// NewGuard makes the guard of a policy, nil if the policy needs none. Samplers made from src.Options
// pass their snapshots to the guard.
func (src *Set) NewGuard(policy guard.Policy) *runner.Runner {
	if !policy.Guards() {
		return nil
	}
	if src.Table != nil {
		src.Table.Hints = true
	}
	uid := os.Geteuid()
	r := runner.New(guard.New(policy, guard.Owner{UID: uint32(uid), Root: uid == 0}))
	r.Clock = src.Options.Clock
	src.Options.Guard = r.Observe
	return r
}

// BindGuard connects a daemon's guard to the sampler, the probes and the logs.
func (src *Set) BindGuard(r *runner.Runner, sampling *sampler.Sampler, o *daemon.Options) {
	if r == nil {
		return
	}
	r.Sample = Refresher(sampling)
	r.Flusher = src.Flusher(r.Sample)
	r.Note, r.Log = sampling.Note, src.Log
	r.Prove()
	r.Failed = func(err error) { o.Log.Error("a decision of the guard is not logged", "error", err.Error()) }
	o.Guard = r
}

// WatchGuard makes snapshots show the daemon's guard or, without one, a dry-run of this process's own
// guard, which it returns. Only a daemon acts.
func (src *Set) WatchGuard() *runner.Runner {
	policy := src.Settings.Guard
	if policy.Mode == guard.Act {
		policy.Mode = guard.DryRun
	}
	own := src.NewGuard(policy)
	if src.Daemon == nil {
		return own
	}
	src.Options.RecordingPaused = src.Daemon.RecordingPaused
	var last time.Time
	src.Options.Guard = func(snap *snapshot.Snapshot) *snapshot.Guard {
		g := src.Daemon.Guard()
		if g == nil && own != nil {
			return own.Observe(snap)
		}
		if last.IsZero() {
			last = snap.Time // the daemon's past has the earlier decisions
		}
		if g != nil && src.Note != nil {
			last = noteDecisions(g.Decisions, last, src.Note)
		}
		return g
	}
	return own
}

// noteDecisions notes the decisions after a time, except GuardActs, and returns the time of the newest.
func noteDecisions(newestFirst []snapshot.GuardDecision, after time.Time, note func(snapshot.Event)) time.Time {
	last := after
	for _, d := range slices.Backward(newestFirst) {
		if d.Time.After(after) && d.Kind != snapshot.GuardActs {
			note(runner.EventOf(&d))
			last = d.Time
		}
	}
	return last
}

// PauseGuard returns a function that pauses the daemon's guard or own; nil if there can be neither.
func (src *Set) PauseGuard(own *runner.Runner) func(context.Context, bool, time.Duration) error {
	if own == nil && src.Daemon == nil {
		return nil
	}
	return func(ctx context.Context, byDaemon bool, d time.Duration) error {
		switch {
		case byDaemon && src.Daemon != nil:
			return src.Daemon.PauseGuard(ctx, d)
		case own == nil:
			return errors.New("there is none")
		}
		own.Pause(own.Clock().Add(d))
		return nil
	}
}
