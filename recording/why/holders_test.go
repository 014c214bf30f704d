package why

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// TestTheLineAndTheHolderAreNamed: the page also has a remedy, or says that there is none.
func TestTheLineAndTheHolderAreNamed(t *testing.T) {
	grows := func(s float64) quantity.Bytes { return quantity.Bytes(max(79-s/10, 1)) * gib }
	for name, c := range map[string]struct {
		held []snapshot.HeldClass
		want []string
		not  string
	}{
		"a variable": {[]snapshot.HeldClass{{Class: "variables", Name: "outputs in train", Bytes: 60 * gib}, {Class: "parameters", Bytes: gib}},
			[]string{"60.0G of the 79.0G allocated was in the variable outputs in train.", "60.0G free what the variable outputs in train keeps", "unnamed (gradients, activations, …)                    18.0G"}, "No setting"},
		"a traceback": {[]snapshot.HeldClass{{Class: "variables", Name: "x in f, kept by sys.last_traceback", Bytes: 60 * gib}},
			[]string{"sys.last_traceback = None, then gc.collect(): it keeps the variable x in f."}, "No setting"},
		"small ones": {[]snapshot.HeldClass{{Class: "optimizer_state", Bytes: 60 * gib}, {Class: "variables", Name: "x", Bytes: gib}},
			[]string{"No setting stops a leak", "optimizer state", "the variable x"}, "was in"},
		"unknown": {nil, []string{"No setting stops a leak"}, "WHAT HELD"},
	} {
		h := (&story{from: time.Hour, own: full(grows)}).asked(10 * gib)
		h.failure.Stack, h.failure.Held = []string{"train.py:42 in forward", "train.py:88 in main", "run.py:1 in <module>"}, c.held
		page := pageOf(h)
		for _, want := range append(c.want, "The line: train.py:42 in forward, called by train.py:88 in main.") {
			if !strings.Contains(page, want) {
				t.Errorf("%s: no %q in\n%s", name, want, page)
			}
		}
		if strings.Contains(page, c.not) {
			t.Errorf("%s: %q in\n%s", name, c.not, page)
		}
	}
}

func TestEachVerdictHasARemedyOrSaysThatThereIsNone(t *testing.T) {
	e := &Evidence{Requested: computed(10 * gib), Free: computed(gib), Used: computed(30 * gib)}
	if words := noAdvice(e, &Verdict{Cause: OwnGrowth}); !strings.Contains(words, "the 9.00G that was lacking") || !strings.Contains(words, "vramscope headroom 40G") {
		t.Error(words)
	}
	for _, cause := range []Cause{OwnGrowth, NeighbourTook, Fragmentation, Leak, LimitSet, TooLarge, CannotTell} {
		if words := noAdvice(e, &Verdict{Cause: cause}); words == "" {
			t.Errorf("%s: nothing", cause)
		}
		if words := noAdvice(e, &Verdict{Cause: cause, Advice: make([]Advice, 1)}); words != "" {
			t.Errorf("%s: %q beside advice", cause, words)
		}
	}
}
