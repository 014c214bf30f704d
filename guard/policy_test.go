package guard

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
)

func TestRuleCheck(t *testing.T) {
	bytes := func(n quantity.Bytes) Amount { return Amount{Bytes: n * gib} }
	for want, changes := range map[string][]func(*Rule){
		"": {
			func(*Rule) {},
			func(r *Rule) { r.When.FreeBelow, r.Goal = bytes(8), bytes(9) },
			func(r *Rule) { r.When, r.Goal = When{FullWithin: time.Minute}, bytes(9) },
			func(r *Rule) { r.When.FullWithin = time.Minute },
			func(r *Rule) { r.Steps = []Level{Gradual, Selective, Urgent} },
			func(r *Rule) { r.Steps = []Level{Gradual, Urgent} },
		},
		"name: the rule needs a name":                      {func(r *Rule) { r.Name = "" }},
		"when: the rule needs a condition":                 {func(r *Rule) { r.When = When{For: time.Minute} }},
		"goal: the rule needs a goal":                      {func(r *Rule) { r.Goal = Amount{} }},
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

// The first entry that matches sets the value, and those after it may still protect. A
// process may lower its own importance.
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
