package simulator_test

import (
	"encoding/json"
	"testing"
	"time"

	"vramscope/sampler/simulator"
)

func (m moment) encode(t *testing.T) string {
	t.Helper()
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Calls must not change the story: one box is sampled twice a second, the other
// only for the comparison.
func TestSameSeedGivesTheSameStory(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, prelude := range []time.Duration{0, 10 * time.Minute} {
		watched, left := open(t, simulator.Options{Seed: 5, Prelude: prelude}), open(t, simulator.Options{Seed: 5, Prelude: prelude})
		looks := 0
		for at := -prelude; at <= 20*time.Minute; at += 470 * time.Millisecond {
			m := watched.look(at)
			if looks++; looks%73 != 0 {
				continue
			}
			if got, want := left.look(at).encode(t), m.encode(t); got != want {
				t.Fatalf("after %s the boxes differ:\n%s\n%s", at, got, want)
			}
		}
	}
}

func TestAnotherSeedGivesAnotherStory(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	one, other := open(t, simulator.Options{Seed: 1}), open(t, simulator.Options{Seed: 2})
	if one.look(time.Hour).encode(t) == other.look(time.Hour).encode(t) {
		t.Error("the seed changes nothing")
	}
}

func TestClockThatGoesBackStopsTheStory(t *testing.T) {
	b := open(t, simulator.Options{})
	before := b.look(5 * time.Minute)
	b.look(4 * time.Minute)
	after := b.look(5 * time.Minute)
	if before.encode(t) != after.encode(t) {
		t.Error("the story went on, or back, with a clock that went back")
	}
}

func TestGPUsAreLimited(t *testing.T) {
	for _, gpus := range []int{-1, 17} {
		if _, err := simulator.New(simulator.Options{GPUs: gpus}); err == nil {
			t.Errorf("%d GPUs were accepted", gpus)
		}
	}
	for gpus := 1; gpus <= simulator.MaxGPUs; gpus++ {
		if got := len(open(t, simulator.Options{GPUs: gpus}).devices); got != gpus {
			t.Errorf("asked for %d GPUs, got %d", gpus, got)
		}
	}
}
