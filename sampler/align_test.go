package sampler

import (
	"testing"
	"time"
)

func TestAlignedTicks(t *testing.T) {
	start := time.Now()
	for _, c := range []struct{ interval, beside, next, want time.Duration }{
		{time.Second, 300 * time.Millisecond, 2000 * time.Millisecond, 1300 * time.Millisecond},
		{time.Second, 300 * time.Millisecond, 2300 * time.Millisecond, 2300 * time.Millisecond},
		{time.Second, 5300 * time.Millisecond, 2000 * time.Millisecond, 1300 * time.Millisecond}, // it began later
		{5 * time.Second, 300 * time.Millisecond, 5000 * time.Millisecond, 4300 * time.Millisecond},
		{250 * time.Millisecond, 300 * time.Millisecond, 2000 * time.Millisecond, 1800 * time.Millisecond},
	} {
		s := New(Options{Interval: c.interval})
		if got := s.aligned(start.Add(c.next)); got != start.Add(c.next) {
			t.Errorf("%+v: without another clock %v", c, got.Sub(start))
		}
		s.Align(start.Add(c.beside))
		if got := s.aligned(start.Add(c.next)); got != start.Add(c.want) {
			t.Errorf("%+v: got %v", c, got.Sub(start))
		}
	}
}

// Ticks keep their interval, also one that is no whole number of seconds.
func TestAlignedTicksKeepTheirInterval(t *testing.T) {
	for _, interval := range []time.Duration{100, 300, 700, 1000, 1500, 2000, 2500, 10_000, 15_250} {
		interval *= time.Millisecond
		s := New(Options{Interval: interval})
		next := time.Now()
		s.Align(next.Add(-345 * time.Millisecond))
		for tick := range 6 {
			before := next
			if next = s.aligned(next).Add(s.Interval()); tick > 0 && next.Sub(before) != interval {
				t.Errorf("interval %v: tick %d comes %v after the one before", interval, tick, next.Sub(before))
			}
		}
	}
}
