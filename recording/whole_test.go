package recording

import (
	"slices"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

// stretch is a history of some seconds, with an event in each second. The field number is every value.
type stretch struct {
	number         int
	oldest, newest int64 // s; 0 for an empty history
	away           bool
}

func (h *stretch) Away() bool { return h.away }

func (h *stretch) Span() (oldest, newest time.Time) {
	if h.oldest == 0 {
		return oldest, newest
	}
	return time.Unix(h.oldest, 0), time.Unix(h.newest, 0)
}

func (h *stretch) has(t time.Time) bool {
	return h.oldest != 0 && t.Unix() >= h.oldest && t.Unix() <= h.newest
}

func (h *stretch) At(t time.Time) (*snapshot.Snapshot, bool) {
	return &snapshot.Snapshot{Sequence: uint64(h.number)}, h.has(t)
}

func (h *stretch) Series(_ snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := make([]snapshot.Point, buckets)
	for i := range points {
		p := &points[i]
		p.Time = from.Add(to.Sub(from) * time.Duration(i+1) / time.Duration(buckets))
		p.Known, p.Last = h.has(p.Time), int64(h.number)
	}
	return points
}

func (h *stretch) Events(limit int) (events []snapshot.Event) {
	for t := h.newest; t >= max(h.oldest, 1) && (limit <= 0 || len(events) < limit); t-- {
		events = append(events, snapshot.Event{Time: time.Unix(t, 0), GPU: h.number})
	}
	return events
}

// TestWholeHistoryTakesEachMomentFromOne: moments before the live history begins come from the earlier
// one, all others from the live one.
func TestWholeHistoryTakesEachMomentFromOne(t *testing.T) {
	for name, c := range map[string]struct {
		live, before   *stretch
		oldest, newest int64
		numbers        []int // at 1 to 9 s: 1 is the earlier, 2 the live history, 0 none
	}{
		"one after the other":       {&stretch{2, 6, 9, false}, &stretch{1, 2, 5, false}, 2, 9, []int{0, 1, 1, 1, 1, 2, 2, 2, 2}},
		"they overlap":              {&stretch{2, 6, 9, false}, &stretch{1, 2, 7, false}, 2, 9, []int{0, 1, 1, 1, 1, 2, 2, 2, 2}},
		"the live one is empty":     {&stretch{2, 0, 0, false}, &stretch{1, 2, 5, false}, 2, 5, []int{0, 1, 1, 1, 1, 0, 0, 0, 0}},
		"the earlier one is empty":  {&stretch{2, 6, 9, false}, &stretch{1, 0, 0, false}, 6, 9, []int{0, 0, 0, 0, 0, 2, 2, 2, 2}},
		"there is no earlier one":   {&stretch{2, 6, 9, false}, nil, 6, 9, []int{0, 0, 0, 0, 0, 2, 2, 2, 2}},
		"the live one is the older": {&stretch{2, 2, 5, false}, &stretch{1, 6, 9, false}, 2, 5, []int{0, 2, 2, 2, 2, 0, 0, 0, 0}},
	} {
		h := Whole(c.live, func() snapshot.History {
			if c.before == nil {
				return nil
			}
			return c.before
		})
		if oldest, newest := h.Span(); oldest.Unix() != c.oldest || newest.Unix() != c.newest {
			t.Errorf("%s: from %d to %d s", name, oldest.Unix(), newest.Unix())
		}
		var want []int // events, newest first
		for i, number := range c.numbers {
			got, ok := h.At(time.Unix(int64(i+1), 0))
			if ok != (number != 0) || ok && got.Sequence != uint64(number) {
				t.Errorf("%s: at %d s: %t, %+v", name, i+1, ok, got)
			}
			if number != 0 {
				want = append([]int{number}, want...)
			}
		}
		for limit := range len(want) + 2 {
			var got []int
			for _, e := range h.Events(limit) {
				got = append(got, e.GPU)
			}
			if limit == 0 && !slices.Equal(got, want) || limit > 0 && !slices.Equal(got, want[:min(limit, len(want))]) {
				t.Errorf("%s: events %v, limit %d, want %v", name, got, limit, want)
			}
		}
	}
}

// TestWholeEventsReachBehindThoseOfTheOverlap: the earlier history's events in the live history's time
// are left out.
func TestWholeEventsReachBehindThoseOfTheOverlap(t *testing.T) {
	h := Whole(eventless{&stretch{number: 2, oldest: 20, newest: 30}}, func() snapshot.History { return &stretch{number: 1, oldest: 1, newest: 29} })
	for limit, want := range map[int]int{0: 19, 1: 1, 4: 4, 19: 19, 25: 19} {
		if got := h.Events(limit); len(got) != want || got[0].Time.Unix() != 19 {
			t.Errorf("limit %d: %+v", limit, got)
		}
	}
}

// eventless is a history without events.
type eventless struct{ snapshot.History }

func (eventless) Events(int) []snapshot.Event { return nil }

// TestWholeSeriesFillsGapsOfTheLiveOne: values that the live history lacks come from the earlier one.
func TestWholeSeriesFillsGapsOfTheLiveOne(t *testing.T) {
	live, before := &stretch{number: 2, oldest: 4, newest: 9}, &stretch{number: 1, oldest: 1, newest: 20}
	h := Whole(live, func() snapshot.History { return before })
	if oldest, newest := h.Span(); oldest.Unix() != 1 || newest.Unix() != 20 {
		t.Errorf("from %d to %d s", oldest.Unix(), newest.Unix())
	}
	empty := Whole(&stretch{}, func() snapshot.History { return before })
	if p := empty.Series(snapshot.SeriesKey{}, time.Unix(3, 0), time.Unix(4, 0), 1)[0]; !p.Known || p.Last != 1 {
		t.Errorf("before the live one begins: %+v", p)
	}
	for from, want := range map[int64][]int64{1: {1, 1, 2, 2, 2, 2, 2, 2, 1}, 4: {2, 2, 2, 2, 2, 0}} {
		for i, p := range h.Series(snapshot.SeriesKey{}, time.Unix(from, 0), time.Unix(from+int64(len(want)), 0), len(want)) {
			if p.Known != (want[i] != 0) || p.Known && p.Last != want[i] {
				t.Errorf("from %d s: point %d is %+v, want %d", from, i, p, want[i])
			}
		}
	}
}

// TestHistoryIsAwayWhereItsLiveOneIs: a recording is never away.
func TestHistoryIsAwayWhereItsLiveOneIs(t *testing.T) {
	for live, want := range map[snapshot.History]bool{&stretch{away: true}: true, &stretch{}: false, struct{ snapshot.History }{}: false} {
		if got := Join(live, nil).Away(); got != want {
			t.Errorf("%+v: %t", live, got)
		}
	}
}

// TestJoinedEventsAreOfBoth: the live history's come first, and there are no more than the limit.
func TestJoinedEventsAreOfBoth(t *testing.T) {
	j := Join(&stretch{number: 2, oldest: 6, newest: 8}, nil)
	for _, useless := range []*stretch{{number: 1}, {number: 1, oldest: 6, newest: 9}} {
		if j.Before(useless) {
			t.Errorf("%+v is before it", useless)
		}
	}
	if Join(&stretch{}, nil).Before(&stretch{oldest: 1, newest: 2}) {
		t.Error("there is an earlier history of one that has not begun")
	}
	if !j.Before(&stretch{number: 1, oldest: 5, newest: 7}) {
		t.Fatal("the earlier history is of no use")
	}
	for limit, want := range map[int][]int{0: {2, 2, 2, 1}, 2: {2, 2}, 3: {2, 2, 2}, 4: {2, 2, 2, 1}, 5: {2, 2, 2, 1}} {
		var got []int
		for _, e := range j.Events(limit) {
			got = append(got, e.GPU)
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
}
