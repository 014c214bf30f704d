package store

import (
	"slices"
	"testing"
	"time"

	"vramscope/metric"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// run ticks once a second from begin on and appends the tick's number to each series.
func run(t *testing.T, s *Store, begin time.Time, ticks int, series ...*Series) {
	t.Helper()
	for i := range ticks {
		if !s.Begin(begin.Add(time.Duration(i) * time.Second)) {
			t.Fatalf("tick %d was refused", i)
		}
		for _, r := range series {
			r.Append(int64(i))
		}
		s.Commit()
	}
}

func TestEmptyStore(t *testing.T) {
	s := New()
	r := s.Open()
	if _, _, ok := r.At(noon); ok {
		t.Error("a sample out of nothing")
	}
	if oldest, newest := s.Span(); !oldest.IsZero() || !newest.IsZero() {
		t.Error("a span out of nothing")
	}
	for _, c := range r.Buckets(noon, noon.Add(time.Minute), 3) {
		if c.Known || c.Time.IsZero() {
			t.Errorf("column %+v", c)
		}
	}
	if r.Buckets(noon, noon, 3) != nil || r.Buckets(noon, noon.Add(1), 0) != nil {
		t.Error("columns without time or number")
	}
	s.Commit()
	r.Append(1)
	if _, newest := s.Span(); !newest.IsZero() {
		t.Error("a commit without a tick counts")
	}
}

func TestTickIsPublishedAtOnce(t *testing.T) {
	s := New()
	a, b := s.Open(), s.Open()
	run(t, s, noon, 1, a, b)
	s.Begin(noon.Add(time.Second))
	a.Append(7)
	if v, at, ok := a.At(noon.Add(time.Minute)); !ok || v != 0 || !at.Equal(noon) {
		t.Errorf("the open tick shows: %d, %v, %v", v, at, ok)
	}
	s.Commit()
	if v, _, ok := a.At(noon.Add(time.Minute)); !ok || v != 7 {
		t.Errorf("got %d, %v", v, ok)
	}
	if v, _, ok := b.At(noon.Add(time.Minute)); ok {
		t.Errorf("a gap reads %d", v)
	}
	if v, _, ok := b.At(noon.Add(time.Second / 2)); !ok || v != 0 {
		t.Errorf("before the gap: %d, %v", v, ok)
	}
}

func TestSpikeStaysVisibleForADay(t *testing.T) {
	s := New()
	r := s.Open()
	const spike = 80 << 30
	for i := range 20 * 3600 {
		s.Begin(noon.Add(time.Duration(i) * time.Second))
		if i == 4000 {
			r.Append(spike)
		} else {
			r.Append(1 << 30)
		}
		s.Commit()
	}
	end := noon.Add(20 * time.Hour)
	columns := r.Buckets(noon, end, 100)
	if !slices.ContainsFunc(columns, func(b metric.Point) bool { return b.Max == spike && b.Min == 1<<30 }) {
		t.Error("the spike has vanished")
	}
}

func TestClockMaySleepAndStepBack(t *testing.T) {
	s := New()
	r := s.Open()
	run(t, s, noon, 10, r)
	woken := noon.Add(8 * time.Hour)
	run(t, s, woken, 10, r)
	if v, at, ok := r.At(woken.Add(-time.Hour)); !ok || v != 9 || !at.Equal(noon.Add(9*time.Second)) {
		t.Errorf("while asleep: %d, %v, %v", v, at, ok)
	}
	if s.Begin(woken) || s.Begin(time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC)) || s.Begin(woken.Add(9*time.Second)) || s.Begin(time.Time{}) {
		t.Error("a tick that is not later than the one before")
	}
	r.Append(1000)
	s.Commit()
	if v, _, _ := r.At(woken.Add(time.Hour)); v != 9 {
		t.Errorf("a refused tick left %d", v)
	}
}

func TestPastFollowsAWallClockSetBack(t *testing.T) {
	s := New()
	r := s.Open()
	run(t, s, noon, 600, r)
	next := noon.Add(10*time.Minute - time.Hour)
	if !s.begin(next, time.Second) {
		t.Fatal("refused")
	}
	s.clock = next
	r.Append(600)
	s.Commit()
	for _, tick := range []int64{600, 599, 10} {
		if v, _, ok := r.At(next.Add(-time.Duration(600-tick) * time.Second)); !ok || v != tick {
			t.Errorf("%d seconds ago: %d, %v", 600-tick, v, ok)
		}
	}
	if _, newest := s.Span(); !newest.Equal(next) {
		t.Errorf("the newest is %v, want %v", newest, next)
	}
}

func TestMemoryOfClosedSeriesIsFreed(t *testing.T) {
	s := newStore(256, 15*time.Second, time.Hour)
	keeper := s.Open()
	run(t, s, noon, 1000, keeper)
	var series []*Series
	for range 50 {
		series = append(series, s.Open())
	}
	run(t, s, noon.Add(2000*time.Second), 2000, append(series, keeper)...)
	for _, r := range series {
		r.Close()
	}
	at := noon.Add(3999 * time.Second)
	run(t, s, noon.Add(4000*time.Second), 1000, keeper)
	if v, _, ok := series[7].At(at); !ok || v < 1980 {
		t.Errorf("a closed series reads %d, %v", v, ok)
	}
	run(t, s, noon.Add(5000*time.Second), 4000, keeper)
	if _, _, ok := series[7].At(at); ok {
		t.Error("still there after its retention")
	}
	if held := slices.Concat(s.turns[:]...); !slices.Equal(held, []*Series{keeper}) {
		t.Fatal("the store still holds a forgotten series")
	}
	series[7].Append(1)
}

func TestCoarseSpanReachesADay(t *testing.T) {
	s := New()
	r := s.Open()
	begin := noon
	for i := range 30 * 360 { // one tick in ten seconds
		s.Begin(begin.Add(time.Duration(i) * 10 * time.Second))
		r.Append(int64(i))
		s.Commit()
	}
	oldest, newest := s.Span()
	if reach := newest.Sub(oldest); reach < 24*time.Hour || reach > 24*time.Hour+30*time.Second {
		t.Errorf("the span is %v", reach)
	}
	if _, _, ok := r.At(oldest.Add(30 * time.Second)); !ok {
		t.Error("the oldest is not there")
	}
	if _, _, ok := r.At(oldest.Add(-time.Minute)); ok {
		t.Error("older than the oldest")
	}
}

// In one tick of a large box only few blocks are sealed and folded.
func TestSeriesBeginBlocksByTurns(t *testing.T) {
	s := newStore(256, 15*time.Second, time.Hour)
	series := make([]*Series, 4*blockPlaces)
	for i := range series {
		series[i] = s.Open()
	}
	starts := make([]int64, len(series))
	for tick := range 5 * blockPlaces {
		run(t, s, noon.Add(time.Duration(tick)*time.Second), 1, series...)
		rolled := 0
		for i, r := range series {
			if r.start != starts[i] {
				starts[i] = r.start
				rolled++
			}
		}
		if tick > 0 && rolled != 4 {
			t.Fatalf("%d series began a block at tick %d, want 4 of %d", rolled, tick, len(series))
		}
	}
}
