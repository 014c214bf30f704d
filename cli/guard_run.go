package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"vramscope/cli/config"
	"vramscope/daemon"
	"vramscope/guard"
	"vramscope/guard/runner"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// guardOwner is whose guard this process runs.
func guardOwner() guard.Owner {
	uid := os.Geteuid()
	return guard.Owner{UID: uint32(uid), Root: uid == 0}
}

// newGuard makes the guard that a policy asks for, and has the sampler show it its
// snapshots; nil where the policy asks for none.
func (src *sources) newGuard(policy guard.Policy) *runner.Runner {
	if !policy.Guards() {
		return nil
	}
	if src.table != nil {
		src.table.Hints = true
	}
	r := runner.New(guard.New(policy, guardOwner()))
	r.Clock = src.options.Clock
	src.options.Guard = r.Observe
	return r
}

// bindGuard gives a daemon's guard its means.
func (src *sources) bindGuard(r *runner.Runner, sampling *sampler.Sampler, o *daemon.Options) {
	if r == nil {
		return
	}
	r.Sample = func(ctx context.Context) *snapshot.Snapshot {
		ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
		defer cancel()
		return sampling.Refresh(ctx)
	}
	r.Flusher = src.flusher(r.Sample)
	r.Note, r.Log = sampling.Note, src.log
	r.Prove()
	r.Failed = func(err error) { o.Log.Error("a decision of the guard is not logged", "error", err.Error()) }
	o.Guard = r
	if src.table != nil {
		o.Identify = src.table.Identify
	}
}

// watchGuard is the monitor's guard: the daemon's state where that has one, else a
// dry run of its own, whatever the mode: only a daemon acts.
func (src *sources) watchGuard(s *config.Settings) *runner.Runner {
	policy := s.Guard
	if policy.Mode == guard.Act {
		policy.Mode = guard.DryRun
	}
	own := src.newGuard(policy)
	if src.daemon == nil {
		return own
	}
	src.options.RecordingPaused = src.daemon.RecordingPaused
	var last time.Time
	src.options.Guard = func(snap *snapshot.Snapshot) *snapshot.Guard {
		g := src.daemon.Guard()
		if g == nil && own != nil {
			return own.Observe(snap)
		}
		if last.IsZero() {
			last = snap.Time // the daemon's past has those before
		}
		if g != nil && src.note != nil {
			last = noteDecisions(g.Decisions, last, src.note)
		}
		return g
	}
	return own
}

// noteDecisions notes the decisions after a time, and returns the newest one's time.
func noteDecisions(newestFirst []snapshot.GuardDecision, after time.Time, note func(snapshot.Event)) time.Time {
	last := after
	for _, d := range slices.Backward(newestFirst) {
		if d.Time.After(after) && d.Kind != guard.Acts {
			note(runner.EventOf(&d))
			last = d.Time
		}
	}
	return last
}

// pauseGuard pauses the daemon's guard or the monitor's own; nil where neither can be
// there.
func (src *sources) pauseGuard(own *runner.Runner) func(context.Context, bool, time.Duration) error {
	if own == nil && src.daemon == nil {
		return nil
	}
	return func(ctx context.Context, byDaemon bool, d time.Duration) error {
		switch {
		case byDaemon && src.daemon != nil:
			return src.daemon.PauseGuard(ctx, d)
		case own == nil:
			return errors.New("there is none")
		}
		own.Pause(own.Clock().Add(d))
		return nil
	}
}
