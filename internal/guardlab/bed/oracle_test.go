package bed

import (
	"reflect"
	"testing"
	"time"

	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
)

// With an oracle the important job does not fail, whether or not other jobs free memory.
func TestImportantJobLivesWithAnOracle(t *testing.T) {
	s := named(t, "job that starts large beside idle cache")
	failures := func(r world.Result) (important, flushes int) {
		for _, f := range r.OutOfMemory {
			if f.Important {
				important++
			}
		}
		return important, len(r.Flushes)
	}
	none := Play(s, 100, Policy{Name: "none"}, cost, time.Hour)
	if important, _ := failures(none.Result); important < 5 {
		t.Fatalf("%d failures without a guard", important)
	}
	for _, o := range Oracles()[:3] {
		r := o.Play(s, 100, cost, time.Hour)
		if important, flushes := failures(r); important > 0 || flushes > 0 == o.Nowhere {
			t.Errorf("%s: %d failures, %d flushes", o.Name, important, flushes)
		}
		if again := o.Play(s, 100, cost, time.Hour); !reflect.DeepEqual(r, again) {
			t.Errorf("%s: the same seed gives another result", o.Name)
		}
	}
}

// An oracle that looks ahead chooses which job frees memory first. The jobs with the largest caches
// follow.
func TestGiversUntilThereIsEnough(t *testing.T) {
	q := question{missing: 10 * quantity.GiB, givers: []giver{{2, 8 * quantity.GiB}, {0, 5 * quantity.GiB}, {1, 2 * quantity.GiB}}}
	for _, c := range []struct{ first, want []int }{{nil, []int{2, 0}}, {[]int{0}, []int{0, 2}}, {[]int{1}, []int{1, 2}}} {
		if got := q.enough(c.first); !reflect.DeepEqual(got, c.want) {
			t.Errorf("first %v: %v, want %v", c.first, got, c.want)
		}
	}
}
