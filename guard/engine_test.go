package guard

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

func TestFlushesLeastImportantAndStopsAtGoal(t *testing.T) {
	b := newBox(
		&row{command: "train.py", allocated: 50 * gib, cached: 6 * gib},
		&row{command: "pytest", allocated: gib, cached: 8 * gib},
		&row{command: "notebook", allocated: gib, cached: 9 * gib},
	)
	e := New(rooms(Act, Importance{Command: "pytest*", Value: -500}), alice)
	all := b.run(e, 120, nil)
	done := of(all, snapshot.GuardFlushed)
	if got := pids(done); got != "101 " {
		t.Fatalf("flushed %q, want pytest alone:\n%v", got, all)
	}
	d := done[0]
	if d.Measured.Or(0) != 8*gib || d.Expected.Or(0) != 8*gib || d.Rule != "room" || !strings.Contains(d.Reason, "importance -500") {
		t.Errorf("%+v", d)
	}
	if want := "flushed PID 101 (gradual), 8.00G freed of 8.00G expected: 5.00G free of 80.0G, the rule asks for 10%"; !strings.HasPrefix(d.Message, want) {
		t.Errorf("message %q", d.Message)
	}
	if reached := of(all, snapshot.GuardReached); len(reached) != 1 || !strings.Contains(reached[0].Reason, "goal is reached after 1 flush") {
		t.Errorf("%v", reached)
	}
}

// TestOneThatCannotActOnlySaysSo: an engine that cannot act only reports, and says why, until it can act.
func TestOneThatCannotActOnlySaysSo(t *testing.T) {
	b := newBox(&row{command: "a", allocated: 60 * gib, cached: 15 * gib})
	e := New(rooms(Act), alice)
	e.Cannot("its log is full")
	all := b.run(e, 60, nil)
	if s := e.State(); len(of(all, snapshot.GuardActs))+len(of(all, snapshot.GuardFlushed)) > 0 || len(of(all, snapshot.GuardWould)) == 0 || s.Mode != DryRun || s.Cannot != "its log is full" {
		t.Fatalf("it says mode %s, %q, and decides %v", s.Mode, s.Cannot, all)
	}
	e.Cannot("")
	if done := of(b.run(e, 60, nil), snapshot.GuardFlushed); len(done) != 1 || e.State().Mode != Act || e.State().Cannot != "" {
		t.Errorf("mended: %v, %+v", done, e.State())
	}
	dry := New(rooms(DryRun), alice)
	dry.Cannot("its log is full")
	if dry.State().Cannot != "" {
		t.Error("a dry run is not to act")
	}
}

func TestNeverTouched(t *testing.T) {
	now := newBox().now
	for name, r := range map[string]*row{
		"protected":       {command: "train.py"},
		"another user's":  {user: "bob", uid: 1001},
		"distributed":     {distributed: "WORLD_SIZE=8"},
		"no figures":      {unknown: true},
		"probe rejected":  {probe: &snapshot.Probe{State: snapshot.ProbeLive, Rejected: "reports 512T"}},
		"probe doubted":   {probe: &snapshot.Probe{State: snapshot.ProbeLive, Doubted: true}},
		"probe stale":     {probe: &snapshot.Probe{State: snapshot.ProbeStale, Age: 10 * time.Second}},
		"probe silent":    {probe: &snapshot.Probe{State: snapshot.ProbeSilent, Age: 10 * time.Second}},
		"mismatch":        {probe: &snapshot.Probe{State: snapshot.ProbeLive, Mismatch: true}},
		"cannot flush":    {probe: &snapshot.Probe{State: snapshot.ProbeLive, Capabilities: []string{"snapshot"}}},
		"only just begun": {started: now.Add(200 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			r.allocated, r.cached = 60*gib, 15*gib
			b := newBox(r)
			policy := rooms(Act, Importance{Command: "train.py", Protect: true})
			policy.Rules[0].Users = All // for a guard that is not root's this means Own
			all := b.run(New(policy, alice), 240, nil)
			if acts := of(all, snapshot.GuardActs); len(acts) > 0 {
				t.Fatalf("%v", acts)
			}
			nothing := of(all, snapshot.GuardNothing)
			if len(nothing) == 0 || nothing[0].Reason == "" || len(nothing) > 2 {
				t.Errorf("%d reasons: %v", len(nothing), nothing)
			}
			for _, d := range nothing {
				if !strings.Contains(d.Reason, "PID 100") {
					t.Errorf("%q does not say of whom", d.Reason)
				}
			}
		})
	}
}

func TestRootActsOnOthersOnlyWhereTheRuleSaysAll(t *testing.T) {
	for users, want := range map[Users]int{Own: 0, All: 1} {
		b := newBox(&row{user: "bob", uid: 1001, allocated: 60 * gib, cached: 15 * gib})
		b.host = "root"
		policy := rooms(Act)
		policy.Rules[0].Users = users
		if got := len(of(b.run(New(policy, Owner{Root: true}), 60, nil), snapshot.GuardFlushed)); got != want {
			t.Errorf("users %s: %d flushes", users, got)
		}
	}
}

func TestListedDistributedJobIsTouched(t *testing.T) {
	b := newBox(&row{command: "train.py", distributed: "WORLD_SIZE=8", allocated: 60 * gib, cached: 15 * gib})
	e := New(rooms(Act, Importance{Command: "train.py*", Distributed: true}), alice)
	if got := len(of(b.run(e, 60, nil), snapshot.GuardFlushed)); got != 1 {
		t.Errorf("%d flushes", got)
	}
}

func TestPauseAndUnknownFigures(t *testing.T) {
	b := newBox(&row{allocated: 60 * gib, cached: 15 * gib})
	e := New(rooms(Act), alice)
	b.run(e, 1, nil)
	e.Pause(b.now.Add(time.Minute))
	if all := b.run(e, 58, nil); len(all) > 0 {
		t.Errorf("while it is paused: %v", all)
	}
	b.blind = true
	if all := b.run(e, 60, nil); len(of(all, snapshot.GuardResumed)) != 1 || len(all) != 1 {
		t.Errorf("without the driver's figures: %v", all)
	}
	b.blind = false
	if all := b.run(e, 30, nil); len(of(all, snapshot.GuardFlushed)) != 1 {
		t.Errorf("afterwards: %v", all)
	}
}

// A row that a driver does not list for a minute is remembered. A row that comes back later is new.
func TestRowIsRememberedForAMinute(t *testing.T) {
	for seconds, want := range map[int]string{60: "", 61: "it has just started, and may be loading"} {
		r := &row{allocated: 40 * gib, cached: 10 * gib}
		b := newBox(r)
		e := New(rooms(Act), alice)
		b.run(e, 60, nil)
		r.gone = true
		b.run(e, seconds, nil)
		r.gone = false
		b.run(e, 1, nil)
		if s := e.State().Standings; len(s) != 1 || s[0].Reason != want {
			t.Errorf("not listed for %d s: %+v", seconds, s)
		}
	}
}

// A probe that lists its capabilities must list a flush. An old probe lists none, and is flushed.
func TestProbeThatCannotFlush(t *testing.T) {
	for want, capabilities := range map[int][]string{0: {"stats"}, 1: nil} {
		b := newBox(&row{allocated: 60 * gib, cached: 15 * gib, probe: &snapshot.Probe{State: snapshot.ProbeLive, Capabilities: capabilities}})
		if done := of(b.run(New(rooms(Act), alice), 60, nil), snapshot.GuardFlushed); len(done) != want {
			t.Errorf("%q: %d flushes, want %d", capabilities, len(done), want)
		}
	}
}

// A program that empties its own cache is left alone for a while; one that uses a part of it is
// not.
func TestProgramThatEmptiesItsCacheIsLeftAlone(t *testing.T) {
	for left, want := range map[quantity.Bytes]int{0: 0, 8 * gib: 1} {
		r := &row{allocated: 40 * gib, cached: 20 * gib}
		other := &row{allocated: gib}
		b := newBox(r, other)
		e := New(rooms(Act), alice)
		b.run(e, 60, nil)
		r.cached = left
		b.run(e, 2, nil)
		r.cached, other.allocated = 20*gib, 15*gib
		if done := of(b.run(e, 15, nil), snapshot.GuardFlushed); len(done) != want {
			t.Errorf("with %v left: %d flushes, want %d", left, len(done), want)
		}
	}
}

// Reasons that differ only in their figures are one.
func TestWithoutDigits(t *testing.T) {
	if got := strings.Map(WithoutDigits, "9 of 10 s"); got != " of  s" {
		t.Errorf("%q", got)
	}
}

// The newest 32 decisions are remembered.
func TestNewestDecisionsAreRemembered(t *testing.T) {
	e := New(rooms(Act), alice)
	for i := range 50 {
		e.note([]Decision{{Kind: snapshot.GuardNothing, GPU: i}})
	}
	if recent := e.recent; len(recent) != 32 || recent[0].GPU != 49 || recent[31].GPU != 18 {
		t.Errorf("%d decisions, from %d to %d", len(recent), recent[0].GPU, recent[len(recent)-1].GPU)
	}
}
