package store

import (
	"math/bits"
	"time"

	"vramscope/metric"
)

// Series is one time series.
type Series struct {
	store   *Store
	head    head
	start   int64  // ordinal of the head's first place
	full    blocks // samples from oldest() to the head
	buckets blocks // of samples before oldest()
	closed  bool
	dropped bool
}

// Open returns a new series, in which earlier ticks are gaps.
func (s *Store) Open() *Series {
	turn := s.opened % blockPlaces
	s.opened++
	r := &Series{store: s, start: s.ticks.end() - (s.ticks.end()-int64(turn)+blockPlaces)%blockPlaces}
	s.turns[turn] = append(s.turns[turn], r)
	return r
}

// oldest returns the ordinal of the first place in full resolution.
func (r *Series) oldest() int64 { return r.start - r.store.full }

// Append sets the value at the open tick. Outside a tick and on a closed series, Append does nothing.
func (r *Series) Append(v int64) {
	if s := r.store; s.open && !r.closed {
		r.head.set(int(s.ticks.end()-r.start), v)
	}
}

// Close ends the series. Its samples can be read until they are older than the store's span.
func (r *Series) Close() { r.closed = true }

// Drop marks a closed series as no longer read.
func (r *Series) Drop() { r.dropped = true }

// roll seals the head's block and begins the next, folds the oldest block of the full resolution, and
// drops samples and buckets that are no longer kept.
func (r *Series) roll() {
	s := r.store
	if r.start+blockPlaces > s.ticks.end() {
		return // the block was opened at this tick, or its first tick was never committed
	}
	if m := r.head.present; m != (mask{}) {
		work := &s.work
		payload, kind := appendPayload(work.payload[:0], &m, r.head.collect(&work.values))
		r.full.push(r.start, frame{kind, payload})
		work.payload = payload
		r.head = head{}
	}
	r.fold()
	r.start += blockPlaces
	r.full.forget(r.oldest())
	r.buckets.forget(s.buckets.first)
}

// At returns the sample of the tick at or before t, and its time; false if that tick is a gap or was
// forgotten. Beyond the full resolution, At returns the last sample of a bucket, and the bucket's end.
func (r *Series) At(t time.Time) (v int64, at time.Time, ok bool) {
	s := r.store
	if s.ticks.empty() {
		return 0, time.Time{}, false
	}
	moment := s.local(t)
	if tick := s.ticks.after(moment) - 1; tick >= max(r.oldest(), s.ticks.first) {
		v, ok = r.sample(tick)
		return v, s.wall(s.ticks.at(tick)), ok
	}
	bucket := s.buckets.after(moment-s.width) - 1
	if bucket < s.oldestBucket() {
		return 0, time.Time{}, false
	}
	var b bucketBlock
	ok = b.decode(r.buckets.find(bucket))
	i := int(bucket % blockPlaces)
	return b.values[i].last, s.wall(s.buckets.at(bucket) + s.width), ok && b.present.has(i)
}

func (r *Series) sample(tick int64) (int64, bool) {
	if i := tick - r.start; i >= 0 {
		ok := i < blockPlaces && r.head.present.has(int(i)) // a closed series may no longer roll
		if !ok {
			return 0, false
		}
		return r.head.at(int(i)), true
	}
	i := int((tick - r.start) & (blockPlaces - 1))
	var m mask
	var values [blockPlaces]int64
	f := r.full.find(tick)
	if _, ok := f.decode(&m, values[:]); !ok {
		return 0, false
	}
	return values[m.before(i)&(blockPlaces-1)], m.has(i)
}

// before counts the values before place i.
func (m *mask) before(i int) int {
	return bits.OnesCount64(m[0]&ones(i)) + bits.OnesCount64(m[1]&ones(i-64))
}

// Buckets divides the time (from, to] into n columns of equal width. Beyond the full resolution, a
// column has the 15 s buckets that end in the column. If columns are narrower than buckets, a bucket
// is in each column that it touches.
func (r *Series) Buckets(from, to time.Time, n int) []metric.Point {
	if n <= 0 || !to.After(from) {
		return nil
	}
	c := newColumns(r.store, from, to, n)
	if !r.store.ticks.empty() {
		c.addBuckets(r)
		c.addSamples(r)
	}
	return c.out
}
