package snapshot

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
)

// watched returns the demand of a process that had these figures for a number of seconds.
func watched(seconds int, allocated, ever func(second int) quantity.Bytes, predicted ...Prediction) Demand {
	var k Peaks
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	p := Process{PredictedAllocated: predicted}
	for i := range seconds {
		now = now.Add(time.Second)
		p.Allocated = quantity.From(allocated(i), quantity.Probe)
		p.Allocators = []Allocator{{PeakAllocated: quantity.From(ever(i), quantity.Probe)}}
		k.Add(now, &p)
	}
	return k.Demand(now, &p)
}

// The forecast of a program that loads reaches the capacity of the GPU, so only its peaks count.
func TestDemandOfALoadingProgramHasNoForecast(t *testing.T) {
	var k Peaks
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	p := Process{Allocated: quantity.From(10*quantity.GiB, quantity.Probe), PredictedAllocated: []Prediction{{Horizon: 10 * time.Second, Upper80: 90 * quantity.GiB}}}
	for range 30 {
		now = now.Add(time.Second)
		k.Add(now, &p)
	}
	for doubt, want := range map[Doubt]quantity.Bytes{Loading: 0, Young: 0, Rebuilding: 0, Unsteady: 80 * quantity.GiB, Believed: 80 * quantity.GiB} {
		p.Doubt = doubt
		if d := k.Demand(now, &p); d.Needs() != want {
			t.Errorf("doubt %q: needs %s, want %s", doubt, d.Needs(), want)
		}
	}
}

func TestDemandIsWhatWasNeededLately(t *testing.T) {
	const gib = quantity.GiB
	constant := func(v quantity.Bytes) func(int) quantity.Bytes { return func(int) quantity.Bytes { return v } }
	// from returns 10 GiB, except in ten seconds: then it adds more. They begin at second 600-before.
	from := func(before int, more quantity.Bytes) func(int) quantity.Bytes {
		return func(i int) quantity.Bytes {
			if i >= 600-before && i < 610-before {
				return 10*gib + more
			}
			return 10 * gib
		}
	}
	for _, c := range []struct {
		name            string
		allocated, ever func(int) quantity.Bytes
		predicted       []Prediction
		medians, uppers [3]quantity.Bytes
		mostEver        quantity.Bytes
		hidden          bool
	}{
		{"steady", constant(10 * gib), constant(10 * gib), nil, [3]quantity.Bytes{}, [3]quantity.Bytes{}, 0, false},
		{"a peak a minute and a half ago", from(90, 5*gib), constant(15 * gib), nil, [3]quantity.Bytes{}, [3]quantity.Bytes{0, 5 * gib, 5 * gib}, 5 * gib, false},
		{"a peak of eight minutes ago", from(480, 5*gib), constant(15 * gib), nil, [3]quantity.Bytes{}, [3]quantity.Bytes{0, 0, 5 * gib}, 5 * gib, false},
		{"a peak in each ten seconds", func(i int) quantity.Bytes { return 10*gib + quantity.Bytes(i%5%4)*gib }, constant(13 * gib), nil,
			[3]quantity.Bytes{3 * gib, 3 * gib, 3 * gib}, [3]quantity.Bytes{3 * gib, 3 * gib, 3 * gib}, 3 * gib, false},
		{"a peak between two samples", constant(10 * gib), func(i int) quantity.Bytes { return 12*gib + quantity.Bytes(i/500)*gib }, nil,
			[3]quantity.Bytes{}, [3]quantity.Bytes{0, 3 * gib, 3 * gib}, 3 * gib, false},
		{"a peak of before", constant(10 * gib), constant(30 * gib), nil, [3]quantity.Bytes{}, [3]quantity.Bytes{}, 20 * gib, true},
		{"it grows", constant(10 * gib), constant(10 * gib), []Prediction{{Horizon: time.Minute, Median: 12 * gib, Upper80: 13 * gib}},
			[3]quantity.Bytes{0, 2 * gib, 2 * gib}, [3]quantity.Bytes{0, 3 * gib, 3 * gib}, 0, false},
	} {
		d := watched(600, c.allocated, c.ever, c.predicted...)
		for i := range DemandTimes {
			if d.Within[i] != (Need{c.medians[i], c.uppers[i]}) {
				t.Errorf("%s, within %s: %v", c.name, DemandTimes[i], d.Within[i])
			}
		}
		beyond := c.uppers[1]
		if c.hidden {
			beyond = c.mostEver
		}
		if !d.Known || d.Ever != c.mostEver || d.Hidden != c.hidden || d.Upper(time.Hour) != c.mostEver || d.Upper(30*time.Second) != beyond {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
	if d := watched(20, constant(gib), constant(5*gib)); d.Known || d.Upper(time.Second) != 4*gib {
		t.Errorf("before it is known its highest peak counts: %+v", d)
	}
}

// onePeak is a history in which a process had 1 GiB, and 5 GiB once, half-way through.
type onePeak struct {
	History
	now time.Time
}

func (h onePeak) Series(key SeriesKey, from, to time.Time, buckets int) (points []Point) {
	for at := from; at.Before(to); at = at.Add(to.Sub(from) / time.Duration(buckets)) {
		points = append(points, Point{Time: at, Known: key.Metric == metric.Allocated, Max: int64(quantity.GiB)})
	}
	points[buckets/2].Max = int64(5 * quantity.GiB)
	return points
}

// The demand of a past moment is computed from the history.
func TestDemandOfThePast(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	p := Process{Allocated: quantity.From(quantity.GiB, quantity.Probe)}
	d := DemandOf(onePeak{now: now}, now, &p)
	if !d.Known || d.Needs() != 4*quantity.GiB || d.Within[1].Upper != 0 || d.Peak != 5*quantity.GiB {
		t.Errorf("%+v", d)
	}
	if p.Demand = (Demand{Known: true, Peak: 1}); DemandOf(onePeak{now: now}, now, &p) != p.Demand {
		t.Error("the sampler's own does not count")
	}
}

// A server frees its cache, and its requests fill the cache again beyond any peak. A flush is no remedy
// until the refill is more than ten minutes ago.
func TestWhatWasTakenAgainIsNotPromised(t *testing.T) {
	const gib = quantity.GiB
	var k Peaks
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	known := func(v quantity.Bytes) Bytes { return quantity.From(v, quantity.Probe) }
	var p Process
	remedyAfter := func(seconds int, cached func(second int) quantity.Bytes) string {
		for i := range seconds {
			now = now.Add(time.Second)
			p.Allocated, p.Fragmented, p.Cached, p.Returnable = known(10*gib), known(0), known(cached(i)), known(cached(i))
			k.Add(now, &p)
		}
		p.Demand = k.Demand(now, &p)
		return LastingOf(nil, now, &p).Remedy(&p)
	}
	full := func(int) quantity.Bytes { return 20 * gib }
	grows := func(i int) quantity.Bytes { return min(quantity.Bytes(i)*gib, 20*gib) }
	for _, c := range []struct {
		seconds int
		cached  func(int) quantity.Bytes
		want    string
	}{{60, full, "keeps 20.0G free"}, {90, grows, ""}, {70, func(i int) quantity.Bytes { return grows(i) / 5 }, ""}, {50, full, ""}, {700, func(i int) quantity.Bytes { return grows(i) / 5 }, ""}, {600, full, "keeps 16G free"}} {
		if got := remedyAfter(c.seconds, c.cached); got != c.want {
			t.Errorf("after %d s: %q, want %q", c.seconds, got, c.want)
		}
	}
}
