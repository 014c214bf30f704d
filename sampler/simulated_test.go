package sampler

import (
	"runtime"
	"testing"
	"time"

	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// simulated is the demo on a clock that the test moves.
type simulated struct {
	now     time.Time
	sampler *Sampler
}

func newSimulated(t testing.TB) *simulated {
	t.Helper()
	d := &simulated{now: start}
	clock := func() time.Time { return d.now }
	b, err := simulator.New(simulator.Options{Seed: 1, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	d.sampler = New(Options{Devices: b, Probes: b, Processes: b, Clock: clock, Simulated: true, Deadline: testTimeout})
	return d
}

// after lets time pass and samples.
func (d *simulated) after(step time.Duration) *snapshot.Snapshot {
	d.now = d.now.Add(step)
	return d.sampler.Tick(d.now)
}

func TestDemoStory(t *testing.T) {
	d := newSimulated(t)
	var alarm, lost, back time.Duration
	for second := 1; second <= 180; second++ {
		snap := d.after(time.Second)
		passed := time.Duration(second) * time.Second
		for _, a := range snap.Alerts {
			if alarm == 0 && a.Kind != snapshot.AlertLost {
				alarm = passed
			}
		}
		g := snap.GPUs[6]
		if lost == 0 && g.State == snapshot.GPULost {
			lost = passed
		}
		if lost != 0 && back == 0 && g.State == snapshot.GPUOK {
			back = passed
		}
	}
	if alarm == 0 || alarm > 20*time.Second {
		t.Errorf("the first alarm came after %v, want within 20 s", alarm)
	}
	if lost == 0 || lost > 40*time.Second {
		t.Errorf("GPU 6 was lost after %v, want within 40 s", lost)
	}
	if back == 0 {
		t.Error("GPU 6 did not come back within three minutes")
	}
}

func TestSimulatedSnapshotsAddUp(t *testing.T) {
	d := newSimulated(t)
	for range 1200 {
		snap := d.after(time.Second)
		for i := range snap.GPUs {
			g := &snap.GPUs[i]
			used, ok := g.Memory.Used.Value()
			if !ok {
				continue
			}
			p := g.Parts
			sum := p.Other.Or(0) + p.Unknown.Or(0) + p.Allocated.Or(0) + p.Fragmented.Or(0) + p.Returnable.Or(0)
			if sum < used || used > g.Memory.Capacity().Or(0) {
				t.Fatalf("%v: GPU %d: parts %v of %v used, capacity %v", d.now, g.Index, sum, used, g.Memory.Capacity())
			}
		}
		for i := range snap.Rows {
			r := &snap.Rows[i]
			if o, ok := r.Other.Value(); ok && o < 0 && r.Probe.State == snapshot.ProbeLive && r.Probe.Age < comparable {
				t.Fatalf("%v: pid %d: other is %v", d.now, r.ID.Process.PID, o)
			}
		}
	}
}

// Eight hours at one sample a second, and then eight more: the second half adds
// at most what the store's budgets allow.
func TestMemoryIsFlatOverEightHours(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	d := newSimulated(t)
	run := func(hours int) uint64 {
		for range hours * 1800 {
			d.after(2 * time.Second)
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	warm := run(2)
	late := run(6)
	t.Logf("heap after 2 h: %.1f MiB, after 8 h: %.1f MiB, store %.1f MiB", float64(warm)/(1<<20), float64(late)/(1<<20), float64(d.sampler.history.store.Bytes())/(1<<20))
	if late > warm+8<<20 {
		t.Errorf("the heap grew from %d to %d bytes in six hours", warm, late)
	}
}
