package sampler

import (
	"context"
	"testing"
	"time"

	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// lateSampler is one that starts beside another, which has run for long.
func lateSampler(t testing.TB, ran time.Duration) (late, early *Sampler, tick func()) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	box, err := simulator.New(simulator.Options{Seed: 1, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
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

func TestWarmForecastersKnowThePast(t *testing.T) {
	late, early, tick := lateSampler(t, 20*time.Minute)
	tick()
	tick()
	done := make(chan struct{})
	go func() {
		defer close(done)
		late.Warm(early.History())
	}()
	for waiting := true; waiting; { // as Run does
		select {
		case act := <-late.control:
			act()
		case <-done:
			waiting = false
		case <-time.After(time.Minute):
			t.Fatal("Warm does not end")
		}
	}
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
	for i := range got.Rows {
		if p := &got.Rows[i]; p.Trend == snapshot.TrendYoung && want.Row(p.ID).Trend != snapshot.TrendYoung {
			t.Errorf("PID %d: young, want %v", p.ID.Process.PID, want.Row(p.ID).Trend)
		}
	}
}

func TestWarmWithoutATick(t *testing.T) {
	late, early, _ := lateSampler(t, time.Second)
	late.Warm(early.History()) // nothing to warm, and nobody ticks
}

// BenchmarkWarm reads an hour of the simulated box and feeds its forecasters.
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
