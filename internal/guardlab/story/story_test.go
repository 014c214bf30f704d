package story

import (
	"reflect"
	"testing"
	"time"

	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
)

// play plays a story without a guard, or with an oracle that flushes other jobs' caches at no cost,
// each second and where an important allocation fails.
func play(s Story, seed uint64, oracle bool) world.Result {
	w := s.Draw(seed).World(seed, world.Cost{})
	flush := func(ok func(*world.Job) bool) {
		for _, j := range w.Jobs {
			if ok(j) {
				j.Flush()
			}
		}
	}
	if !oracle {
		w.Run(time.Hour, nil)
		return w.Result()
	}
	w.Rescue = func(asker *world.Job, _ quantity.Bytes) time.Duration {
		if asker.Important {
			flush(func(j *world.Job) bool { return j != asker })
		}
		return 0
	}
	w.Run(time.Hour, func() { flush(func(j *world.Job) bool { return !j.Important }) })
	return w.Result()
}

func important(r world.Result) (n int) {
	for _, f := range r.OutOfMemory {
		if f.Important {
			n++
		}
	}
	return n
}

// Memory runs out without a guard, except in harmless stories, and an oracle shows what can be won.
func TestStoriesAreWhatTheyAreCalled(t *testing.T) {
	for _, s := range All() {
		none, won := 0, 0
		for seed := uint64(100); seed < 103; seed++ {
			none += important(play(s, seed, false))
			won += important(play(s, seed, true))
		}
		switch {
		case s.Kind == Harmless && none > 0:
			t.Errorf("%s: %d failures without a guard", s.Name, none)
		case s.Kind != Harmless && none == 0:
			t.Errorf("%s: nothing fails without a guard", s.Name)
		case s.Kind == Winnable && 10*won > none:
			t.Errorf("%s: an oracle leaves %d of %d failures", s.Name, won, none)
		case s.Kind == Unwinnable && 10*won < none:
			t.Errorf("%s: an oracle leaves %d of %d failures: it can be won", s.Name, won, none)
		}
	}
}

func TestSameSeedGivesTheSameStory(t *testing.T) {
	for _, s := range All()[:3] {
		a, b := play(s, 7, false), play(s, 7, false)
		if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, play(s, 8, false)) {
			t.Errorf("%s: seeds do not decide what happens", s.Name)
		}
	}
}

// The parameters of a story are found for each of 300 seeds.
func TestEverySeedHasAStory(t *testing.T) {
	for _, s := range All() {
		for seed := uint64(4000); seed < 4300; seed++ {
			if len(s.Draw(seed).Jobs) < 2 {
				t.Fatalf("%s: seed %d has no jobs", s.Name, seed)
			}
		}
	}
}
