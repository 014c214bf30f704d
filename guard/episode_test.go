package guard

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

func TestConditionMustHold(t *testing.T) {
	b := newBox(&row{allocated: 60 * gib, cached: 15 * gib})
	e := New(rooms(Act), alice)
	b.run(e, 30, func(second int) { // too little is free for only five seconds of ten
		b.rows[0].allocated = 50 * gib
		if second%10 < 5 && second > 20 {
			b.rows[0].allocated = 60 * gib
		}
	})
	if len(e.State().Decisions) > 0 {
		t.Errorf("%v", e.State().Decisions)
	}
}

func TestDryRunOnlySaysSo(t *testing.T) {
	b := newBox(&row{command: "a", allocated: 60 * gib, cached: 15 * gib})
	e := New(rooms(DryRun), alice)
	all := b.run(e, 3600, nil)
	if n := len(of(all, snapshot.GuardActs)) + len(of(all, snapshot.GuardFlushed)); n > 0 {
		t.Fatalf("%d actions in a dry run", n)
	}
	// At once, and again after the back-offs of 1, 5, 25 and 25 minutes.
	if would := of(all, snapshot.GuardWould); len(would) != 5 || would[0].Expected.Or(0) != 15*gib {
		t.Errorf("%d times: %v", len(would), all)
	}
}

// A dry run stops when its decisions would reach the goal.
func TestDryRunStopsAtTheGoal(t *testing.T) {
	for most, want := range map[quantity.Bytes]int{7 * gib: 1, 7*gib - 1: 2} {
		b := newBox(&row{command: "a", allocated: 55*gib + 7*gib - most, cached: most}, &row{command: "b", allocated: 7 * gib, cached: 6 * gib})
		if would := of(b.run(New(rooms(DryRun), alice), 60, nil), snapshot.GuardWould); len(would) != want {
			t.Errorf("of 7 GiB that lack %s are cached: %v", most, would)
		}
	}
}

// A flush that frees less than a two-hundredth of a GPU is not worth it.
func TestLeastThatIsWorthAFlush(t *testing.T) {
	worth := minFlushOn(80 * gib)
	for frees, want := range map[quantity.Bytes]int{worth: 1, worth - 1: 0} {
		b := newBox(&row{allocated: 75 * gib, cached: frees})
		policy := rooms(Act)
		policy.Rules[0].Steps = []Level{Gradual}
		if done := of(b.run(New(policy, alice), 60, nil), snapshot.GuardFlushed); len(done) != want {
			t.Errorf("%d bytes of %d: %v", frees, worth, done)
		}
	}
}

func TestStepsEscalate(t *testing.T) {
	for evictable, want := range map[quantity.Bytes]string{20 * gib: "gradual selective ", minFlush: "gradual selective ", minFlush - 1: "gradual "} {
		b := newBox(&row{allocated: 66 * gib, cached: 8 * gib, evictable: evictable})
		policy := rooms(Act)
		policy.Rules[0].Goal = percent(30)
		all := b.run(New(policy, alice), 60, nil)
		levels := ""
		for _, d := range of(all, snapshot.GuardFlushed) {
			levels += d.Level + " "
		}
		if levels != want {
			t.Errorf("%s of its own caches: %s: %v", evictable, levels, all)
		}
	}
}

func TestMemoryThatIsNeededAgainIsUrgentOnly(t *testing.T) {
	worth := minFlushOn(80 * gib)
	for _, tc := range []struct {
		steps     []Level
		evictable quantity.Bytes // by a selective flush
		want      int
	}{{[]Level{Gradual, Selective}, 0, 0}, {[]Level{Gradual, Selective}, worth - 1, 0}, {[]Level{Gradual, Selective}, worth, 1}, {nil, 0, 1}} {
		b := newBox(&row{allocated: 60 * gib, cached: 15 * gib, evictable: tc.evictable})
		policy := rooms(Act)
		policy.Rules[0].Steps = tc.steps
		e := New(policy, alice)
		all := b.run(e, 70, func(second int) {
			b.rows[0].allocated, b.rows[0].cached = 60*gib, 15*gib
			if second%60 == 5 && second < 60 { // an evaluation peak
				b.rows[0].allocated, b.rows[0].cached = 75*gib, 0
			}
		})
		if got := len(of(all, snapshot.GuardActs)); got != tc.want {
			t.Errorf("steps %v, %s of its own caches: %d actions", tc.steps, tc.evictable, got)
		}
	}
}

// A goal is reached when exactly that much is free.
func TestGoalIsReachedExactly(t *testing.T) {
	for goal, policy := range map[quantity.Bytes]Policy{12 * gib: rooms(Act), 4 * gib: demands(Own)} {
		all := newBox(&row{allocated: 80*gib - goal, cached: goal / 2}).run(New(policy, alice), 60, nil)
		if flushed, reached := of(all, snapshot.GuardFlushed), of(all, snapshot.GuardReached); len(flushed) != 1 || len(reached) != 1 {
			t.Errorf("%s: %v", goal, all)
		}
	}
}

// A rule guards each MIG instance by its own memory, with the processes in it.
func TestInstancesAreGuardedApart(t *testing.T) {
	b := newBox(&row{allocated: 25 * gib, cached: 10 * gib}, &row{allocated: 30 * gib, cached: 9 * gib}, &row{cached: gib, probe: &snapshot.Probe{State: snapshot.ProbeLive, Mismatch: true}})
	e := New(rooms(Act), alice)
	var all []Decision
	for range 60 {
		snap := b.snapshot()
		g := &snap.GPUs[0]
		g.MIG = true
		for i, r := range b.rows {
			used := r.allocated + r.cached
			snap.Rows[i].ID.Instance = snapshot.InstanceID{MIG: true, GPU: uint32(i)}
			g.Instances = append(g.Instances, snapshot.Instance{ID: snap.Rows[i].ID.Instance, Memory: snapshot.Memory{Total: known(40 * gib), Free: known(40*gib - used)}})
		}
		g.Instances[2].Memory.Total, g.Instances[2].Memory.Free = known(gib), known(0)
		for _, d := range e.Decide(snap) {
			if all = append(all, d); d.Kind == snapshot.GuardActs {
				whole := d
				whole.Row.Instance = snapshot.InstanceID{}
				e.Finished(d, b.flush(whole))
			}
		}
	}
	if acts, reached := of(all, snapshot.GuardActs), of(all, snapshot.GuardReached); pids(acts) != "101 " || len(reached) != 1 || reached[0].Instance.GPU != 1 {
		t.Errorf("%v", all)
	}
	if nothing := of(all, snapshot.GuardNothing); len(nothing) != 1 || nothing[0].Reason != "PID 102: its probe's figures differ from the driver's" {
		t.Errorf("%v", nothing)
	}
}

// The figures of a GPU that is lost, or whose capacity is unknown, lead to no action. Nor do those of a
// GPU in MIG mode that has no instance.
func TestNothingIsDoneOnALostGPU(t *testing.T) {
	for name, change := range map[string]func(*snapshot.GPU){
		"MIG mode":    func(g *snapshot.GPU) { g.MIG = true },
		"lost":        func(g *snapshot.GPU) { g.State = snapshot.GPULost },
		"no capacity": func(g *snapshot.GPU) { g.Memory.Total = snapshot.Bytes{} },
		"no memory":   func(g *snapshot.GPU) { g.Memory.Total, g.Memory.Used, g.Memory.Free = known(0), known(0), known(0) },
		"":            func(*snapshot.GPU) {},
	} {
		b := newBox(&row{allocated: 60 * gib, cached: 15 * gib})
		policy := rooms(Act)
		policy.Rules[0].When.FreeBelow, policy.Rules[0].Goal = Amount{Bytes: 8 * gib}, Amount{Bytes: 12 * gib}
		e, decided := New(policy, alice), 0
		for range 60 {
			snap := b.snapshot()
			change(&snap.GPUs[0])
			decided += len(e.Decide(snap))
		}
		if (decided > 0) != (name == "") {
			t.Errorf("%s: %d decisions", name, decided)
		}
	}
}

// The reason why nothing is done is given once in an episode, again after five minutes in another
// episode, and a new reason after a minute.
func TestReasonsAreNotRepeatedSoon(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *row, seconds int) // called with the seconds since the first reason
		want   time.Duration
	}{
		"the same": {func(*row, int) {}, 0},
		"in the next episode": {func(r *row, seconds int) {
			if r.allocated = 60 * gib; seconds > 10 && seconds < 20 {
				r.allocated = 30 * gib
			}
		}, repeatAfter},
		"another": {func(r *row, seconds int) {
			if seconds > 10 {
				r.probe = &snapshot.Probe{State: snapshot.ProbeLive, Mismatch: true}
			}
		}, time.Minute},
	} {
		r := &row{allocated: 60 * gib, cached: 15 * gib, probe: &snapshot.Probe{State: snapshot.ProbeStale}}
		b := newBox(r)
		e := New(rooms(Act), alice)
		for len(of(b.run(e, 1, nil), snapshot.GuardNothing)) == 0 {
		}
		first, got := b.now, time.Duration(0)
		if all := of(b.run(e, 320, func(second int) { c.change(r, second) }), snapshot.GuardNothing); len(all) > 0 {
			got = all[0].Time.Sub(first)
		}
		if got != c.want {
			t.Errorf("%s: repeated after %s, want %s", name, got, c.want)
		}
	}
}
