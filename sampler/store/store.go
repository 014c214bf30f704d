package store

import (
	"cmp"
	"sync/atomic"
	"time"
)

// Options are the sizes of a Store. The zero value means the defaults.
type Options struct {
	FullSamples int           // ticks kept in full resolution: 3,600, and up to 127 more
	BucketWidth time.Duration // of the coarse resolution: 15 s
	BucketSpan  time.Duration // how far back from now the coarse resolution reaches: 24 h
}

// Store has the series of a box. The package comment says which calls may be
// concurrent.
type Store struct {
	fullSamples int64
	width       int64 // of a bucket, ns
	span        int64 // of all buckets, ns

	published atomic.Pointer[view]

	// The rest belongs to the writer.
	ticks   timeline // when each committed tick was
	buckets timeline // when each bucket that has a tick begins
	next    int64    // ordinal of the tick that is open, or of the next one
	open    bool
	now     int64     // of the open or last tick, on the store's own time scale
	clock   time.Time // the same moment by the caller's clock
	started int64     // of the first tick
	members [blockTicks][]*Series
	opened  int // series opened so far
	work    scratch
}

// view is the store's clock for readers, up to a tick.
type view struct {
	ticks       timeline
	buckets     timeline
	firstBucket int64 // ordinal of the oldest bucket within the span
	shift       int64 // the store's time − wall clock, ns
	started     int64
}

// New makes an empty store.
func New(o Options) *Store {
	s := &Store{
		fullSamples: int64(cmp.Or(max(o.FullSamples, 0), 3600)),
		width:       int64(cmp.Or(max(o.BucketWidth, 0), 15*time.Second)),
		span:        int64(cmp.Or(max(o.BucketSpan, 0), 24*time.Hour)),
	}
	s.published.Store(&view{})
	return s
}

// Begin starts a tick at t. It reports false where t is not later than the tick
// before, or is more than a century from 1970.
//
// The time since the last tick is that of the wall clock, so that a suspended
// machine leaves a gap. Where the wall clock was set back, it is that of t's
// monotonic reading, and the past moves back with the clock: ten minutes ago stays
// ten minutes ago. Without a monotonic reading such a tick is refused.
//
// An open tick is committed first.
func (s *Store) Begin(t time.Time) bool {
	if s.open {
		s.Commit()
	}
	began := s.begin(t.Round(0), t.Sub(s.clock))
	if began {
		s.clock = t
	}
	return began
}

// begin starts a tick at t by the wall clock; monotonic is the time since the last
// tick by the monotonic clock or, without one, by the wall clock.
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
	s.seal()
	return true
}

// seal starts a new block for the series whose turn it is at this tick.
func (s *Store) seal() {
	turn := &s.members[s.next%blockTicks]
	kept := (*turn)[:0]
	for _, r := range *turn {
		if r.start+blockTicks <= s.next && !r.dropped {
			r.roll()
		}
		if r.forgotten() {
			continue
		}
		kept = append(kept, r)
	}
	clear((*turn)[len(kept):])
	*turn = kept
}

// Commit publishes the tick to readers, all series at once. Without a tick it
// does nothing.
func (s *Store) Commit() {
	if !s.open {
		return
	}
	s.open = false
	s.next++
	s.ticks.append(s.now)
	if begin := floor(s.now, s.width); s.buckets.empty() || begin > s.buckets.last() {
		s.buckets.append(begin)
	}
	// The slowest series folds a block 127 ticks after it has left the full
	// resolution; a reader may still hold the view of the tick before.
	s.ticks.forget(s.next - s.fullSamples - 4*blockTicks)
	s.buckets.forget(s.oldestBucket())
	s.published.Store(s.view())
}

// oldestBucket is the ordinal of the oldest bucket within the span.
func (s *Store) oldestBucket() int64 { return s.buckets.after(s.now - s.span - s.width) }

// view is the view of readers after a tick.
func (s *Store) view() *view {
	return &view{
		ticks: s.ticks, buckets: s.buckets, firstBucket: s.oldestBucket(),
		shift: s.now - s.clock.UnixNano(), started: s.started,
	}
}

// Span is how far back the store can be read; both are zero while it is empty.
func (s *Store) Span() (oldest, newest time.Time) {
	v := s.published.Load()
	if v.ticks.empty() {
		return time.Time{}, time.Time{}
	}
	first := min(v.ticks.at(v.ticks.first()), v.buckets.at(v.firstBucket))
	return v.wall(max(first, v.started)), v.wall(v.ticks.last())
}

// reach is how far from 1970 a moment may be, in seconds: 136 years, so that
// the distance of any two fits an int64 of nanoseconds.
const reach = 1 << 32

// wall converts the store's time to the wall clock's.
func (v *view) wall(t int64) time.Time { return time.Unix(0, t-v.shift) }

// local converts a wall-clock time to the store's. What no 64-bit count of
// nanoseconds can hold becomes the nearest that can.
func (v *view) local(t time.Time) int64 {
	const most = reach * int64(time.Second)
	switch s := t.Unix(); {
	case s > reach:
		return most
	case s < -reach:
		return -most
	}
	return max(-most, min(t.UnixNano()+v.shift, most))
}

// floor rounds down to a multiple of width, for times before 1970 too.
func floor(t, width int64) int64 {
	rest := t % width
	if rest < 0 {
		rest += width
	}
	return t - rest
}
