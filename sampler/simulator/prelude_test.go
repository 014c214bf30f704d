package simulator_test

import (
	"slices"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/simulator"
)

const tenMinutes = 10 * time.Minute

// everyPrelude opens boxes with a prelude of this length, for several seeds.
func everyPrelude(t *testing.T, long time.Duration, check func(t *testing.T, b *box)) {
	t.Helper()
	for seed := range uint64(seeds) {
		check(t, open(t, simulator.Options{Seed: seed, Prelude: long}))
	}
}

func TestPreludeEndsWhereTheStoryBegins(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, long := range []time.Duration{5 * time.Minute, tenMinutes, simulator.MaxPrelude} {
		for seed := range uint64(seeds) {
			direct := open(t, simulator.Options{Seed: seed}).look(0)
			lived := open(t, simulator.Options{Seed: seed, Prelude: long}).look(0)
			for pid, want := range direct.Processes {
				if got := lived.Processes[pid]; got.Identity != want.Identity || !got.Started.Equal(want.Started) {
					t.Errorf("after %s: %+v, want %+v", long, got, want)
				}
			}
			for gpu := range direct.Readings {
				// The start of an epoch, and the cell that a notebook runs, may differ.
				const alike = 2 * quantity.GiB
				got, want := lived.Readings[gpu].Memory.Used.Or(0), direct.Readings[gpu].Memory.Used.Or(0)
				if got < want-alike || got > want+alike {
					t.Errorf("after %s: %s are used on GPU %d, want about %s", long, got, gpu, want)
				}
			}
		}
	}
}

func TestPreludeLeaksAllTheTime(t *testing.T) {
	everyPrelude(t, tenMinutes, func(t *testing.T, b *box) {
		var last quantity.Bytes
		for at := -tenMinutes; at <= 0; at += time.Minute {
			m := b.look(at)
			p, ok := m.owned(3, "carol", "finetune.py")
			used := p.Used.Or(0)
			if !ok || last > 0 && (used < last+1400*quantity.MiB || used > last+1600*quantity.MiB) {
				t.Errorf("carol's job went from %s to %s at %s", last, used, at)
			}
			if full := m.full(3); at == -tenMinutes && (full < 0.66 || full > 0.7) || full > 0.9 {
				t.Errorf("GPU 3 is %.1f %% full at %s", 100*full, at)
			}
			last = used
			if a, ok := m.answer(p.PID); ok && a.Report.Devices[0].Allocators[0].AllocRetries.Or(-1) != 0 {
				t.Errorf("a retry at %s", at)
			}
		}
	})
}

func TestLongPreludeHasTheStartOfTheLeak(t *testing.T) {
	everyPrelude(t, 25*time.Minute, func(t *testing.T, b *box) {
		before := b.look(-24 * time.Minute).Readings[3].Memory.Used
		after := b.look(-13 * time.Minute).Readings[3].Memory.Used
		if before != after {
			t.Errorf("GPU 3 went from %v to %v before the leak", before, after)
		}
	})
}

func TestPreludeHasNoIncidents(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	everyPrelude(t, tenMinutes, func(t *testing.T, b *box) {
		tests, falls := map[int]bool{}, 0
		var last quantity.Bytes
		for at := -tenMinutes; at < 0; at += time.Second {
			m := b.look(at)
			for gpu, err := range m.Errors {
				if err != "" {
					t.Errorf("GPU %d at %s: %s", gpu, at, err)
				}
			}
			if u := m.Readings[2].Utilization.Or(-1); u != 0 {
				t.Fatalf("GPU 2 is %d %% busy at %s", u, at)
			}
			if u := m.Readings[7].Utilization.Or(0); u < 40 {
				t.Errorf("erin's job is %d %% busy at %s", u, at)
			}
			if len(m.Answers) < 7 {
				t.Errorf("%d probes at %s", len(m.Answers), at)
			}
			for _, a := range m.Answers {
				if a.Err != nil || b.clock.Now().Sub(a.At) > time.Second {
					t.Fatalf("at %s: %+v", at, a)
				}
			}
			if p, ok := m.owned(4, "gina", "pytest"); ok {
				tests[p.PID] = true
			}
			p, _ := m.owned(0, "alice", "train.py")
			if p.Used.Or(0) < last-10*quantity.GiB {
				falls++
			}
			last = p.Used.Or(0)
		}
		if len(tests) < 2 || len(tests) > 7 || falls < 3 || falls > 4 {
			t.Errorf("%d test runs, %d epochs", len(tests), falls)
		}
	})
}

func TestPreludeKeepsTheStartsOfTheStory(t *testing.T) {
	everyPrelude(t, tenMinutes, func(t *testing.T, b *box) {
		if m := b.look(-7 * time.Minute); len(m.Readings[3].Processes) != 1 {
			t.Errorf("bob's evaluation is there before its time: %+v", m.Readings[3].Processes)
		}
		if p, ok := b.look(-6*time.Minute).owned(3, "bob", "eval.py"); !ok || p.PID != 3011876 {
			t.Errorf("bob's evaluation: %+v", p)
		}
		for _, arrival := range []struct {
			gpu           int
			user, command string
			at            time.Duration
		}{{4, "gina", "pytest", 25 * time.Second}, {1, "alice", "eval_ckpt.py", 100 * time.Second}} {
			if _, ok := b.look(arrival.at-time.Second).owned(arrival.gpu, arrival.user, arrival.command); ok {
				t.Errorf("%s is there already", arrival.command)
			}
			if _, ok := b.look(arrival.at).owned(arrival.gpu, arrival.user, arrival.command); !ok {
				t.Errorf("%s is not there", arrival.command)
			}
		}
	})
}

func TestLaterProcessesHaveHigherPIDs(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	everyPrelude(t, tenMinutes, func(t *testing.T, b *box) {
		seen := map[int]bool{}
		var order []int
		for at := -tenMinutes; at < 10*time.Minute; at += time.Second {
			for _, r := range b.look(at).Readings {
				for _, p := range r.Processes {
					if !seen[p.PID] && at > -tenMinutes {
						order = append(order, p.PID)
					}
					seen[p.PID] = true
				}
			}
		}
		if len(order) < 8 || !slices.IsSorted(order) {
			t.Errorf("started one after another: %d", order)
		}
	})
}
