package simulator_test

import (
	"errors"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/simulator"
)

const seeds = 3

// everySeed runs a part of the story for several seeds, with and without a prelude.
func everySeed(t *testing.T, check func(t *testing.T, b *box)) {
	t.Helper()
	for seed := range uint64(seeds) {
		for _, prelude := range []time.Duration{0, 10 * time.Minute} {
			check(t, open(t, simulator.Options{Seed: seed, Prelude: prelude}))
		}
	}
}

func TestLeakRaisesTheFirstAlarmAndFillsItsGPU(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	everySeed(t, func(t *testing.T, b *box) {
		if full := b.look(0).full(3); full > 0.9 || full < 0.88 {
			t.Errorf("GPU 3 starts %.1f %% full", 100*full)
		}
		var crossed, full time.Duration
		last := b.look(0).Readings[3].Memory.Used.Or(0)
		for at := time.Second; full == 0 && at < 8*time.Minute; at += time.Second {
			m := b.look(at)
			used := m.Readings[3].Memory.Used.Or(0)
			if used < last {
				t.Fatalf("GPU 3 fell by %s after %s", last-used, at)
			}
			last = used
			if crossed == 0 && m.full(3) > 0.9 {
				crossed = at
				p, _ := m.owned(3, "carol", "finetune.py")
				a, ok := m.answer(p.PID)
				if !ok || a.Report.Devices[0].Allocators[0].AllocRetries.Or(0) == 0 {
					t.Errorf("no retry yet: %+v", a)
				}
			}
			if m.full(3) > 0.998 {
				full = at
			}
		}
		if crossed < 5*time.Second || crossed > 15*time.Second {
			t.Errorf("GPU 3 is 90 %% full after %s", crossed)
		}
		if full < 4*time.Minute || full > 7*time.Minute {
			t.Errorf("GPU 3 is full after %s", full)
		}
	})
}

func TestLeakRunsOutOfMemoryEndsAndStartsAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	everySeed(t, func(t *testing.T, b *box) {
		first, ok := b.look(0).owned(3, "carol", "finetune.py")
		if !ok {
			t.Fatal("carol's job is not there")
		}
		var counts, retries int64
		var failed []probe.FailedAllocation
		var ended, restarted time.Duration
		for at := time.Second; at < 15*time.Minute; at += time.Second {
			m := b.look(at)
			p, ok := m.owned(3, "carol", "finetune.py")
			switch {
			case ok && p.PID == first.PID:
				if a, ok := m.answer(p.PID); ok {
					counts = a.Report.Devices[0].Allocators[0].OutOfMemoryCount.Or(-1)
					retries = a.Report.Devices[0].Allocators[0].AllocRetries.Or(-1)
					failed = a.Report.Devices[0].OutOfMemory
				}
			case !ok && ended == 0:
				ended = at
				if used := m.Readings[3].Memory.Used.Or(0); used > 4*quantity.GiB {
					t.Errorf("%s are still used", used)
				}
			case ok && restarted == 0:
				restarted = at
			case ok && at == restarted+4*time.Minute && m.full(3) < 0.65:
				t.Errorf("the new job has not come far: %.1f %%", 100*m.full(3))
			}
		}
		if counts != 3 || retries < 3 {
			t.Errorf("before its end the probe reported %d failures and %d retries", counts, retries)
		}
		if int64(len(failed)) != counts {
			t.Errorf("%d failed allocations of %d", len(failed), counts)
		}
		for i, f := range failed {
			if f.Bytes <= f.Free.Or(0) || f.Reserved.Or(0) > f.Limit.Or(0) || i > 0 && f.TimeNS <= failed[i-1].TimeNS {
				t.Errorf("failed allocation %d of %d bytes: %d free, %d of %d reserved", i, f.Bytes, f.Free.Or(0), f.Reserved.Or(0), f.Limit.Or(0))
			}
		}
		if ended == 0 || restarted == 0 || restarted-ended < 30*time.Second || restarted-ended > 90*time.Second {
			t.Errorf("ended after %s, started again after %s", ended, restarted)
		}
	})
}

func TestGPUIsLostEarlyAndComesBack(t *testing.T) {
	everySeed(t, func(t *testing.T, b *box) {
		before, _ := b.look(0).owned(6, "hal", "pretrain.py")
		var lost, back time.Duration
		for at := time.Second; at < 5*time.Minute; at += time.Second {
			m := b.look(at)
			_, err := b.Read(b.devices[6])
			switch {
			case err != nil && lost == 0:
				lost = at
				var code *nvml.Error
				if !errors.Is(err, nvml.ErrGPULost) || !errors.As(err, &code) || code.Name != "ERROR_GPU_IS_LOST" {
					t.Errorf("%v", err)
				}
			case err != nil:
				listed := false
				b.Processes(b.clock.Now(), []int{before.PID}, func(*process.Info) { listed = true })
				if !listed {
					t.Fatal("the process hangs, it has not ended")
				}
				if a, ok := m.answer(before.PID); !ok || a.Err == nil && at > lost+2*time.Second {
					t.Fatalf("the probe answers: %+v", a)
				}
			case lost > 0 && back == 0:
				back = at
			}
		}
		if lost < 30*time.Second || lost > 38*time.Second || back-lost < 50*time.Second || back-lost > 70*time.Second {
			t.Errorf("lost after %s, back after %s", lost, back)
		}
		after, ok := b.look(5*time.Minute).owned(6, "hal", "pretrain.py")
		if !ok || after.PID == before.PID || after.Used.Or(0) < 38*quantity.GiB {
			t.Errorf("afterwards hal has %+v", after)
		}
	})
}

func TestGPUIsLostAgainAfterALongTime(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	b := open(t, simulator.Options{})
	var times int
	lost := false
	for at := 3 * time.Minute; at < 3*time.Hour; at += 10 * time.Second {
		b.clock.set(at)
		_, err := b.Read(b.devices[6])
		if err != nil && !lost {
			times++
		}
		lost = err != nil
	}
	if times < 1 || times > 4 {
		t.Errorf("lost %d times in three hours", times)
	}
}

func TestEpochIsASawtooth(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	everySeed(t, func(t *testing.T, b *box) {
		low, high, falls := quantity.Bytes(1<<62), quantity.Bytes(0), 0
		var last quantity.Bytes
		first, _ := b.look(0).owned(0, "alice", "train.py")
		for at := time.Duration(0); at < 12*time.Minute; at += time.Second {
			p, ok := b.look(at).owned(0, "alice", "train.py")
			if !ok || p.PID != first.PID {
				t.Fatalf("alice's job ended after %s", at)
			}
			used := p.Used.Or(0)
			low, high = min(low, used), max(high, used)
			if used < last-10*quantity.GiB {
				falls++
			}
			last = used
		}
		if falls < 4 || falls > 5 || high-low < 12*quantity.GiB || high > 70*quantity.GiB {
			t.Errorf("%d falls between %s and %s", falls, low, high)
		}
	})
}

func TestServerIsIdleAtFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("long, on one goroutine")
	}
	everySeed(t, func(t *testing.T, b *box) {
		busy, most := 0, 0
		used := b.look(0).Readings[2].Memory.Used
		for at := time.Duration(0); at < time.Hour; at += 5 * time.Second {
			r := b.look(at).Readings[2]
			u := r.Utilization.Or(-1)
			if at < 13*time.Minute && u != 0 {
				t.Fatalf("%d %% after %s", u, at)
			}
			if r.Memory.Used != used {
				t.Fatalf("a preallocated cache grew from %v to %v", used, r.Memory.Used)
			}
			if most = max(most, u); u > 0 {
				busy++
			}
		}
		if most < 10 || most > 43 || busy < 40 {
			t.Errorf("busy in %d of 720 samples, at most %d %%", busy, most)
		}
	})
}

func TestShortLivedProcessesComeAndGo(t *testing.T) {
	if testing.Short() {
		t.Skip("long, on one goroutine")
	}
	everySeed(t, func(t *testing.T, b *box) {
		pids := map[int]bool{}
		away := 0
		for at := time.Duration(0); at < 30*time.Minute; at += 2 * time.Second {
			if p, ok := b.look(at).owned(4, "gina", "pytest"); ok {
				pids[p.PID] = true
			} else {
				away++
			}
		}
		if len(pids) < 4 || away < 300 {
			t.Errorf("%d test runs, away in %d of 900 samples", len(pids), away)
		}
	})
}

func TestFragmentedJobStaysFragmented(t *testing.T) {
	if testing.Short() {
		t.Skip("long, on one goroutine")
	}
	everySeed(t, func(t *testing.T, b *box) {
		for at := time.Duration(0); at < time.Hour; at += time.Minute {
			m := b.look(at)
			p, _ := m.owned(4, "dave", "dlrm.py")
			a, ok := m.answer(p.PID)
			if !ok {
				t.Fatalf("no answer after %s", at)
			}
			al := a.Report.Devices[0].Allocators[0]
			if al.Fragmented.Or(0) < 14*quantity.GiB || al.Fragmented.Or(0) > 20*quantity.GiB {
				t.Errorf("%s fragmented after %s", al.Fragmented.Or(0), at)
			}
		}
	})
}

func TestNotebookStaysAroundItsSize(t *testing.T) {
	b := open(t, simulator.Options{})
	start, ok := b.look(0).owned(5, "frank", "ipykernel_launcher")
	if !ok || !start.Instance.MIG {
		t.Fatalf("%+v", start)
	}
	least, most := start.Used.Or(0), start.Used.Or(0)
	for at := time.Duration(0); at < 40*time.Minute; at += 10 * time.Second {
		p, _ := b.look(at).owned(5, "frank", "ipykernel_launcher")
		least, most = min(least, p.Used.Or(0)), max(most, p.Used.Or(0))
	}
	if least < 21*quantity.GiB || most > 26*quantity.GiB {
		t.Errorf("from %s to %s in 40 minutes", least, most)
	}
	if n := len(b.look(0).Readings[5].Instances); n != 3 {
		t.Errorf("%d instances", n)
	}
}
