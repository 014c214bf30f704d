package bed

import (
	"reflect"
	"testing"
	"time"

	"vramscope/internal/guardlab/story"
	"vramscope/internal/guardlab/world"
)

var cost = world.Cost{Sync: 50 * time.Millisecond, PerGiB: time.Millisecond}

func named(t *testing.T, name string) (s story.Story) {
	t.Helper()
	for _, s := range story.All() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no story %s", name)
	return s
}

// The engine's rescues prevent failures, over the real sampler.
func TestRescuePreventsFailures(t *testing.T) {
	s := named(t, "idle notebooks beside a training")
	failed := map[string]int{}
	for _, p := range Policies() {
		if p.Name != "none" && p.Name != "demand + rescue" {
			continue
		}
		for seed := uint64(100); seed < 104; seed++ {
			r := Play(s, seed, p, cost, 20*time.Minute)
			for _, f := range r.OutOfMemory {
				if f.Important {
					failed[p.Name]++
				}
			}
			if rescued := r.Rescued > 0; p.Rescue && len(r.Flushes) == 0 || !p.Rescue && rescued {
				t.Errorf("%s: %+v", p.Name, r)
			}
		}
	}
	if failed["none"] < 10 || 10*failed["demand + rescue"] > failed["none"] {
		t.Errorf("failures of the important job: %v", failed)
	}
}

func TestSameSeedGivesTheSameResult(t *testing.T) {
	p := Policies()[3]
	s := named(t, "batch tests that come and go")
	a := Play(s, 101, p, cost, 15*time.Minute)
	if b := Play(s, 101, p, cost, 15*time.Minute); !reflect.DeepEqual(a, b) || len(a.Flushes) == 0 {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// If no memory can be freed, a process asks for at most one rescue at each failure, and no rescue
// succeeds.
func TestRescueClosesItsDoor(t *testing.T) {
	s := named(t, "all memory allocated")
	r := Play(s, 100, Policy{Name: "rescue", Importance: true, Rescue: true}, cost, 20*time.Minute)
	if r.Asked == 0 || r.Asked > len(r.OutOfMemory) || r.Rescued > 0 || len(r.Flushes) > 0 {
		t.Errorf("%d failures, %d rescues asked for, %d brought something", len(r.OutOfMemory), r.Asked, r.Rescued)
	}
}
