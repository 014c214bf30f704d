package sampler

import (
	"context"
	"slices"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// lateSampler returns a sampler that starts long after another one on the same box.
func lateSampler(t testing.TB, ran time.Duration) (late, early *Sampler, tick func()) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	box := simulator.New(simulator.Options{Seed: 1, Clock: clock})
	options := Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute}
	early, late = New(options), New(options)
	for range int(ran / time.Second) {
		now = now.Add(time.Second)
		early.Tick(now)
	}
	return late, early, func() {
		now = now.Add(time.Second)
		early.Tick(now)
		late.Tick(now)
	}
}

// warmed calls Warm. Like Run after a slow tick, it then runs the function that Warm hands to the ticking
// goroutine.
func warmed(t *testing.T, s *Sampler, before snapshot.History) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Warm(before)
	}()
	time.Sleep(doTimeout + doTimeout/4)
	for waiting := true; waiting; {
		select {
		case act := <-s.control:
			act()
		case <-done:
			waiting = false
		case <-time.After(time.Minute):
			t.Fatal("Warm does not end")
		}
	}
}

func TestWarmForecastersKnowThePast(t *testing.T) {
	late, early, tick := lateSampler(t, 20*time.Minute)
	tick()
	tick()
	warmed(t, late, early.History())
	for range 5 {
		tick()
	}
	got, want := late.Latest(), early.Latest()
	filling := 0
	for i := range want.GPUs {
		w, g := want.GPUs[i].FullIn, got.GPU(want.GPUs[i].UUID).FullIn
		if w == nil {
			continue
		}
		filling++
		if g == nil || g.Median < w.Median*8/10 || g.Median > w.Median*12/10 {
			t.Errorf("GPU %d: full in %v, want %v", i, g, w)
		}
	}
	if filling == 0 {
		t.Error("no GPU of the simulated box fills up")
	}
	if len(want.Ended) == 0 {
		t.Error("no process of the simulated box has ended")
	}
	for i := range want.Ended {
		if id := want.Ended[i].Last.ID; got.EndedRow(id) == nil {
			t.Errorf("PID %d has ended, and its part of the past is unknown", id.Process.PID)
		}
	}
	for i := range got.Rows {
		if p := &got.Rows[i]; p.Trend == snapshot.TrendYoung && want.Row(p.ID).Trend != snapshot.TrendYoung {
			t.Errorf("PID %d: young, want %v", p.ID.Process.PID, want.Row(p.ID).Trend)
		}
	}
}

// recorded is a history like that of a recording: ended rows have only used memory and the peak, and
// live rows have no peak.
type recorded struct{ snapshot.History }

func (r recorded) At(t time.Time) (*snapshot.Snapshot, bool) {
	then, ok := r.History.At(t)
	if ok {
		then = new(*then)
		then.Ended = slices.Clone(then.Ended)
		for i := range then.Ended {
			last := &then.Ended[i].Last
			*last = snapshot.Process{ID: last.ID, Used: last.Used, Peak: last.Peak}
		}
		then.Rows = slices.Clone(then.Rows)
		for i := range then.Rows {
			then.Rows[i].Peak = snapshot.Bytes{}
		}
	}
	return then, ok
}

func TestWarmKnowsWhatEndedProcessesHeld(t *testing.T) {
	late, early, tick := lateSampler(t, 20*time.Minute)
	tick()
	warmed(t, late, recorded{early.History()})
	tick()
	probed := 0
	for i := range early.Latest().Ended[:min(len(early.Latest().Ended), mostLast)] {
		want := &early.Latest().Ended[i].Last
		got := late.Latest().EndedRow(want.ID)
		if got == nil || got.Last.Allocated.Or(-1) != want.Allocated.Or(-1) || got.Last.Peak != want.Peak || got.Last.Runtime != want.Runtime {
			t.Errorf("PID %d: %+v, want %+v", want.ID.Process.PID, got, want)
		}
		if want.Allocated.Known() {
			probed++
		}
	}
	if probed == 0 {
		t.Error("no process with a probe has ended")
	}
}

func TestWarmWithoutATick(t *testing.T) {
	late, early, _ := lateSampler(t, time.Second)
	late.Warm(early.History()) // there is nothing to warm, and no tick follows
}

// BenchmarkWarm reads an hour of the simulated box and feeds it to forecasters.
func BenchmarkWarm(b *testing.B) {
	late, early, tick := lateSampler(b, 61*time.Minute)
	tick()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	go func() {
		for {
			select {
			case act := <-late.control:
				act()
			case <-ctx.Done():
				return
			}
		}
	}()
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		late.Warm(early.History())
	}
}

// A job loads its weights for a minute and then leaks.
func TestLeakAfterALoadIsPredicted(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	b.tick(s)
	b.processes[100] = info(100, 2000) // started just now
	used := quantity.Bytes(0)
	const rate = 48 * mib
	var warned time.Time
	for second := 0; used < 79*gib; second++ {
		if second < 60 {
			used += 700 * mib
		} else {
			used += rate
		}
		b.use("GPU-0", min(used, 79*gib))
		snap := b.tick(s)
		a := hasAlert(snap, snapshot.AlertFullIn)
		switch {
		case a != nil && second < 120:
			t.Fatalf("after %d s, a load is called %q", second, a.Message)
		case a != nil && warned.IsZero():
			warned = snap.Time
		}
	}
	if lead := b.now.Sub(warned); warned.IsZero() || lead < 5*time.Minute {
		t.Errorf("the end was predicted %v before it came (at %v)", lead, warned)
	}
}

func TestProcessThatStartsDoesNotChangeTheForecastOfALeak(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	eval := quantity.Bytes(0)
	grow := func(seconds int, leaked quantity.Bytes) (*snapshot.Snapshot, quantity.Bytes) {
		var snap *snapshot.Snapshot
		for range seconds {
			leaked += 32 * mib
			r := b.readings["GPU-0"]
			r.Memory.Used = measured(40*gib + leaked + eval)
			r.Processes = []nvml.Process{{PID: 100, Type: nvml.Compute, Used: measured(40*gib + leaked)}}
			if eval > 0 {
				r.Processes = append(r.Processes, nvml.Process{PID: 200, Type: nvml.Compute, Used: measured(eval)})
			}
			b.readings["GPU-0"] = r
			snap = b.tick(s)
		}
		return snap, leaked
	}
	_, leaked := grow(600, 0)
	b.processes[200] = info(200, 3000)
	eval = 3 * gib
	for range 6 {
		var snap *snapshot.Snapshot
		snap, leaked = grow(20, leaked)
		left := time.Duration((39*gib-leaked-eval)/(32*mib)) * time.Second
		fullIn(t, snap.GPUs[0].FullIn, left, left/20)
	}
	// The evaluation ends, and more time is left.
	delete(b.processes, 200)
	eval = 0
	for range 4 {
		var snap *snapshot.Snapshot
		snap, leaked = grow(20, leaked)
		left := time.Duration((39*gib-leaked)/(32*mib)) * time.Second
		fullIn(t, snap.GPUs[0].FullIn, left, left/20)
	}
}

// The first load lasts until a plateau, or for five minutes. A later rise is not part of it.
func TestLoadIsUpToFirstPlateau(t *testing.T) {
	for _, c := range []struct {
		name string
		rate func(second int) quantity.Bytes
		over int // second in which the load is over
		grew int // windows in which memory grew
	}{
		{"a load", func(i int) quantity.Bytes { return map[bool]quantity.Bytes{true: 500 * mib}[i < 60] }, 150, 6},
		{"a leak", func(int) quantity.Bytes { return 40 * mib }, 90, 0},
		{"a rise that is longer than any load", func(int) quantity.Bytes { return 100 * mib }, 300, 30},
		{"shards", func(i int) quantity.Bytes { return map[bool]quantity.Bytes{true: 3000 * mib}[i%70 == 0 && i < 250] }, 300, 4},
		{"two loads", func(i int) quantity.Bytes { return map[bool]quantity.Bytes{true: 500 * mib}[i < 60 || i >= 200] }, 150, 6},
	} {
		var l load
		used, over, grew := 10*gib, 0, 0
		for i := range 600 {
			used += c.rate(i)
			if !l.over && l.watch(start.Add(time.Duration(i)*time.Second), used, 40*gib, 0) {
				grew++
			}
			if l.over && over == 0 {
				over = i
			}
		}
		if over < c.over-10 || over > c.over+10 || grew < c.grew-1 || grew > c.grew+1 {
			t.Errorf("%s: over after %d s and %d windows, want %d and %d", c.name, over, grew, c.over, c.grew)
		}
	}
}
