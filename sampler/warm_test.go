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

func TestWarmForecastersKnowTheLeak(t *testing.T) {
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
	leaks := 0
	for i := range want.Rows {
		w, g := &want.Rows[i], got.Row(want.Rows[i].ID)
		if w.Trend != snapshot.TrendLeak {
			continue
		}
		leaks++
		if g == nil || g.Trend != snapshot.TrendLeak {
			t.Errorf("PID %d: trend %v, want a leak", w.ID.Process.PID, g.Trend)
		}
		full, wantFull := got.GPU(w.ID.GPUUUID).FullIn, want.GPU(w.ID.GPUUUID).FullIn
		if wantFull != nil && (full == nil || full.Median < wantFull.Median*9/10 || full.Median > wantFull.Median*11/10) {
			t.Errorf("PID %d: full in %v, want %v", w.ID.Process.PID, full, wantFull)
		}
	}
	if leaks == 0 {
		t.Error("the simulated box has no leak")
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
