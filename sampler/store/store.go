package store

import (
	"slices"
	"time"
)

// Store holds the series of a box.
type Store struct {
	full  int64 // number of ticks kept in full resolution, a multiple of 128; up to 127 more are kept
	width int64 // of a bucket, ns
	span  int64 // how far back the buckets reach, ns

	ticks   moments // ticks in full resolution; older ones are in buckets
	buckets moments // when each bucket that has a tick begins
	open    bool
	now     int64                  // time of the open or the last tick, on the store's own time scale
	clock   time.Time              // the same moment by the caller's clock
	started int64                  // time of the first tick
	opened  int                    // number of series opened so far
	turns   [blockPlaces][]*Series // the series by the tick, modulo blockPlaces, at which their blocks begin; so no tick rolls all of them
	work    scratch
}

type scratch struct {
	values  [blockPlaces]int64
	payload []byte
	buckets bucketBlock
}

func New() *Store { return newStore(3600, 15*time.Second, 24*time.Hour) }

func newStore(full int64, width, span time.Duration) *Store {
	return &Store{full: (full + blockPlaces - 1) / blockPlaces * blockPlaces, width: int64(width), span: int64(span)}
}

// Begin starts a tick at t. The time since the last tick is taken from the wall clock, so that a
// suspended machine leaves a gap. If the wall clock was set back, the time is taken from the monotonic
// clock, and the past moves back with the wall clock: ten minutes ago stays ten minutes ago.
//
// Begin returns false if neither clock has advanced, or if t is beyond reach.
func (s *Store) Begin(t time.Time) bool {
	began := s.begin(t.Round(0), t.Sub(s.clock))
	if began {
		s.clock = t
	}
	return began
}

// begin starts a tick at t by the wall clock. monotonic is the time since the last tick by the
// monotonic clock or, without one, by the wall clock.
func (s *Store) begin(t time.Time, monotonic time.Duration) bool {
	if u := t.Unix(); u > reach || u < -reach {
		return false
	}
	if s.ticks.empty() {
		s.now = t.UnixNano()
		s.started = s.now
	} else {
		elapsed := t.Sub(s.clock.Round(0))
		if elapsed <= 0 {
			elapsed = monotonic
		}
		if elapsed <= 0 {
			return false
		}
		s.now += int64(elapsed)
	}
	s.clock = t
	s.open = true
	turn := &s.turns[s.ticks.end()%blockPlaces]
	*turn = slices.DeleteFunc(*turn, func(r *Series) bool {
		r.roll()
		return r.dropped || r.closed && len(r.full.data) == 0 && len(r.buckets.data) == 0
	})
	return true
}

func (s *Store) Commit() {
	if !s.open {
		return
	}
	s.open = false
	s.ticks.append(s.now)
	if begin := floor(s.now, s.width); s.buckets.empty() || begin > s.buckets.last() {
		s.buckets.append(begin)
	}
	s.ticks.forget(max(s.ticks.end()-s.full-blockPlaces, s.ticks.first)) // the next series to roll still folds the oldest ticks
	s.buckets.forget(s.oldestBucket())
}

// oldestBucket returns the ordinal of the oldest bucket within the span.
func (s *Store) oldestBucket() int64 { return s.buckets.after(s.now - s.span - s.width) }

// Span returns the time that the store covers, zero times while the store is empty.
func (s *Store) Span() (oldest, newest time.Time) {
	if s.ticks.empty() {
		return time.Time{}, time.Time{}
	}
	first := min(s.ticks.at(s.ticks.first), s.buckets.at(s.oldestBucket()))
	return s.wall(max(first, s.started)), s.wall(s.ticks.last())
}

// reach is how far from 1970 a moment may be, in seconds: 136 years, so that the distance of any
// two fits an int64 of nanoseconds.
const reach = 1 << 32

// shift returns the store's time minus the wall clock's.
func (s *Store) shift() int64 { return s.now - s.clock.UnixNano() }

// wall converts the store's time to the wall clock's.
func (s *Store) wall(t int64) time.Time { return time.Unix(0, t-s.shift()) }

// local converts a wall-clock time to the store's, at most reach from 1970.
func (s *Store) local(t time.Time) int64 {
	const maxNanoseconds = reach * int64(time.Second)
	switch u := t.Unix(); {
	case u > reach:
		return maxNanoseconds
	case u < -reach:
		return -maxNanoseconds
	}
	return max(-maxNanoseconds, min(t.UnixNano()+s.shift(), maxNanoseconds))
}

// floor rounds down to a multiple of width, also below zero.
func floor(t, width int64) int64 {
	rest := t % width
	if rest < 0 {
		rest += width
	}
	return t - rest
}

// moments are increasing times in ns, numbered from 0. The oldest may be forgotten.
type moments struct {
	first int64 // ordinal of the oldest
	times []int64
}

func (m *moments) empty() bool      { return len(m.times) == 0 }
func (m *moments) end() int64       { return m.first + int64(len(m.times)) }
func (m *moments) at(i int64) int64 { return m.times[i-m.first] }
func (m *moments) last() int64      { return m.times[len(m.times)-1] }
func (m *moments) append(t int64)   { m.times = append(m.times, t) }

// after returns the first ordinal whose time is later than t, or end.
func (m *moments) after(t int64) int64 {
	i, _ := slices.BinarySearch(m.times, t+1)
	return m.first + int64(i)
}

func (m *moments) forget(before int64) {
	m.times = slices.Delete(m.times, 0, int(before-m.first))
	m.first = before
}
