package guard

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

func TestRuleCheck(t *testing.T) {
	bytes := func(n quantity.Bytes) Amount { return Amount{Bytes: n * gib} }
	for want, changes := range map[string][]func(*Rule){
		"": {
			func(*Rule) {},
			func(r *Rule) { r.When.FreeBelow, r.Goal = bytes(8), bytes(9) },
			func(r *Rule) { r.When, r.Goal = When{FullWithin: time.Minute}, bytes(9) },
			func(r *Rule) { r.When, r.Goal = When{Demand: true}, bytes(9) },
			func(r *Rule) { r.Steps = []Level{Gradual, Selective, Urgent} },
			func(r *Rule) { r.Steps = []Level{Gradual, Urgent} },
		},
		"name: the rule needs a name":      {func(r *Rule) { r.Name = "" }},
		"when: the rule needs a condition": {func(r *Rule) { r.When = When{For: time.Minute} }},
		"when: a rule is for what programs will need, or for leases": {
			func(r *Rule) { r.When = When{Lease: true, Demand: true} },
			func(r *Rule) { r.When = When{Lease: true, FullWithin: time.Minute} },
		},
		"goal: the rule needs a goal": {
			func(r *Rule) { r.Goal = Amount{} },
			func(r *Rule) { r.When, r.Goal = When{Demand: true}, Amount{} },
			func(r *Rule) { r.When.Lease, r.Goal = true, Amount{} },
		},
		"goal: 10% is not above when.free_below (10%)":     {func(r *Rule) { r.Goal = percent(10) }},
		"goal: 8.00G is not above when.free_below (9.00G)": {func(r *Rule) { r.When.FreeBelow, r.Goal = bytes(9), bytes(8) }},
		"goal: write it as when.free_below is written": {
			func(r *Rule) { r.Goal = bytes(20) },
			func(r *Rule) { r.When.FreeBelow = bytes(8) },
		},
		"steps: \"rude\" is none of": {func(r *Rule) { r.Steps = []Level{Gradual, "rude"} }},
		"steps: gradual after urgent: name them from": {
			func(r *Rule) { r.Steps = []Level{Urgent, Gradual} },
			func(r *Rule) { r.Steps = []Level{Urgent, Gradual, Selective} },
		},
		"steps: urgent after urgent: name them from": {func(r *Rule) { r.Steps = []Level{Urgent, Urgent} }},
	} {
		for i, change := range changes {
			r := Rule{Name: "room", When: When{FreeBelow: percent(10)}, Goal: percent(15)}
			change(&r)
			got, err := r.Check()
			if err != nil {
				got += ": " + err.Error()
			}
			if (got == "") != (want == "") || !strings.HasPrefix(got, want) {
				t.Errorf("%d: %q, want %q", i, got, want)
			}
		}
	}
}

func TestAmount(t *testing.T) {
	if a := percent(12.5); a.Of(80*gib) != 10*gib || a.String() != "12.5%" || a.Zero() {
		t.Errorf("%v of 80 GiB is %v", a, a.Of(80*gib))
	}
	if a := (Amount{Bytes: 3 * gib}); a.Of(80*gib) != 3*gib || a.String() != "3.00G" || a.Zero() {
		t.Errorf("%v of 80 GiB is %v", a, a.Of(80*gib))
	}
	if !(Amount{}).Zero() {
		t.Error("nothing is an amount")
	}
}

// The first entry that matches sets the value, and later ones may still protect. A process may
// lower its own importance.
func TestImportanceOfSeveralEntries(t *testing.T) {
	r := &row{command: "train.py"}
	b := newBox(r)
	e := New(rooms(Act, Importance{Command: "serve*", Value: 7}, Importance{Command: "train*", Value: 5}, Importance{User: "alice", Value: 9, Protect: true, Distributed: true}), alice)
	if got := e.importanceOf(b.row(r)); got != (importance{value: 5, protect: true, named: true, distributed: true}) {
		t.Errorf("%+v", got)
	}
	for own, want := range map[int]int{9: 5, -3: -3, -5000: LeastImportant} {
		r.importance = quantity.From(own, quantity.System)
		if got := e.importanceOf(b.row(r)).value; got != want {
			t.Errorf("asking for %d it has %d, want %d", own, got, want)
		}
	}
}

func TestPolicyGuards(t *testing.T) {
	rules := []Rule{{Name: "room"}}
	for _, c := range []struct {
		policy Policy
		want   bool
	}{
		{Policy{Mode: Off}, false}, {Policy{Mode: Off, Rules: rules}, false}, {Policy{Mode: Act}, true}, {Policy{Mode: Act, Rules: rules}, true},
		{Policy{Mode: DryRun}, false}, {Policy{Mode: DryRun, Rules: rules}, true},
	} {
		if got := c.policy.Guards(); got != c.want {
			t.Errorf("%s with %d rules: %v", c.policy.Mode, len(c.policy.Rules), got)
		}
	}
}

func TestRuleHolds(t *testing.T) {
	for _, c := range []struct {
		name   string
		when   When
		free   quantity.Bytes // of 80 GiB
		demand quantity.Bytes
		want   bool
	}{
		{"just below", When{FreeBelow: percent(10)}, 8*gib - 1, 0, true},
		{"not below", When{FreeBelow: percent(10)}, 8 * gib, 0, false},
		{"at the goal", When{Demand: true}, 12 * gib, 0, false},
		{"just below the goal", When{Demand: true}, 12*gib - 1, 0, true},
		{"less than is needed", When{Demand: true}, 20*gib - 1, 20 * gib, true},
		{"as much as is needed", When{Demand: true}, 20 * gib, 20 * gib, false},
		{"one of both", When{FreeBelow: percent(10), Demand: true}, 8 * gib, 20 * gib, false},
		{"both", When{FreeBelow: percent(10), Demand: true}, 7 * gib, 20 * gib, true},
	} {
		r := Rule{When: c.when, Goal: percent(15)}
		if got := r.holds(&view{free: c.free, capacity: 80 * gib, demand: demand{bytes: c.demand}}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A rule for the second GPU skips the first, and has reached its goal when that much is free on the
// second.
func TestRuleOfTheSecondGPU(t *testing.T) {
	b := newBox(&row{command: "test.py", allocated: 68 * gib, cached: 8 * gib})
	p := rooms(Act)
	p.Rules[0].GPUs = []string{"1"}
	e := New(p, alice)
	kinds := ""
	for range 60 {
		s := b.snapshot()
		other := s.GPUs[0]
		s.GPUs[0].Index, other.UUID = 1, "GPU-9"
		s.GPUs = []snapshot.GPU{other, s.GPUs[0]}
		for _, d := range e.Decide(s) {
			if kinds += string(d.Kind) + " "; d.Kind == snapshot.GuardActs {
				e.Finished(d, b.flush(d))
			}
		}
	}
	if kinds != "act reached " {
		t.Errorf("decided: %s", kinds)
	}
}

// The least that a flush must free is enough, and a byte less is not.
func TestLeastFlush(t *testing.T) {
	minimum := minFlushOn(80 * gib)
	for cached, want := range map[quantity.Bytes]string{minimum: "", minimum - 1: "nothing to free"} {
		r := &row{command: "test.py", allocated: 70 * gib, cached: cached}
		b := newBox(r)
		p := rooms(Act)
		p.Rules[0].When.FreeBelow = percent(1) // the condition never holds
		e := New(p, alice)
		for range 300 {
			e.Decide(b.snapshot())
		}
		if got := e.standing[r.id()]; got.Reason != want || e.sharing[1000] != (want == "") || (got.Order == 1) != (want == "") {
			t.Errorf("%v: %+v, shares the limit: %v", cached, got, e.sharing[1000])
		}
	}
}

// A flush that is not reported is given up after a minute, and a release of a server, which itself
// takes up to a minute, after two.
func TestUnreportedFlushIsGivenUp(t *testing.T) {
	server, _ := serving(0)
	for r, c := range map[*row]struct {
		policy Policy
		limit  time.Duration
	}{
		{command: "test.py", cached: 10 * gib}: {rooms(Act), time.Minute},
		server:                                 {sleeps(Act, "vllm*"), 2 * time.Minute},
	} {
		r.allocated = 76*gib - r.cached
		b, e, given := newBox(r), New(c.policy, alice), time.Duration(-1)
		var act Decision
		for range 180 {
			acts := of(e.Decide(b.snapshot()), snapshot.GuardActs)
			if act.Kind == "" && len(acts) > 0 {
				act = acts[0]
			}
			if act.Kind != "" && given < 0 && e.traces[r.id()].flight == nil {
				given = e.now.Sub(act.Time)
			}
		}
		if given != c.limit {
			t.Errorf("%s: it is given up after %v, want %v", r.command, given, c.limit)
		}
	}
}
