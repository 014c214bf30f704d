package snapshot

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
)

// allocations is a history of allocated memory, in GiB, by its age.
type allocations func(age time.Duration) (least, most float64)

func (allocations) At(time.Time) (*Snapshot, bool)   { return nil, false }
func (allocations) Events(int) []Event               { return nil }
func (allocations) Span() (oldest, newest time.Time) { return }

func (a allocations) Series(_ SeriesKey, from, to time.Time, buckets int) []Point {
	points := make([]Point, buckets)
	for i := range points {
		at := from.Add(to.Sub(from) * time.Duration(i+1) / time.Duration(buckets))
		least, most := a(to.Sub(at))
		points[i] = Point{Time: at, Min: int64(least * float64(quantity.GiB)), Max: int64(most * float64(quantity.GiB)), Known: true}
	}
	return points
}

// A flush keeps free the memory that the highest peak leaves. If a program frees and allocates by
// turns, its allocator takes more than the peak.
func TestLastingOf(t *testing.T) {
	gib := func(v float64) Bytes { return quantity.From(quantity.Bytes(v*float64(quantity.GiB)), quantity.Probe) }
	for name, c := range map[string]struct {
		history  allocations
		ever     float64
		max, min float64
	}{
		"idle":              {func(time.Duration) (float64, float64) { return 20, 20 }, 0, 16, 16},
		"idle after a peak": {func(time.Duration) (float64, float64) { return 20, 20 }, 28, 16, 8},
		"growing":           {func(age time.Duration) (float64, float64) { v := 20 - age.Minutes(); return v, v + .1 }, 0, 15.9, 15.9},
		"one peak": {func(age time.Duration) (float64, float64) {
			if age == 5*time.Minute {
				return 20, 24
			}
			return 20, 20
		}, 0, 12, 12},
		"by turns":          {func(time.Duration) (float64, float64) { return 15, 22 }, 0, 14, .8},
		"and a higher peak": {func(time.Duration) (float64, float64) { return 15, 22 }, 25, 14, 0},
		"hardly by turns":   {func(time.Duration) (float64, float64) { return 19.5, 20 }, 0, 16, 16},
	} {
		p := &Process{Allocated: gib(20), Cached: gib(16), Returnable: gib(16), Allocators: []Allocator{{PeakAllocated: gib(c.ever)}}}
		got := LastingOf(c.history, time.Unix(1e9, 0), p)
		near := func(got quantity.Bytes, want float64) bool {
			off := float64(got)/float64(quantity.GiB) - want
			return off > -.01 && off < .01
		}
		if !got.Known || !near(got.Max, c.max) || !near(got.Min, c.min) {
			t.Errorf("%s: max %s, min %s, %+v; want %v and %v", name, got.Max, got.Min, got.Demand, c.max, c.min)
		}
	}
}
