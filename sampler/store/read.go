package store

import (
	"math/bits"
	"time"

	"vramscope/metric"
)

// At is the last sample at or before t, in the resolution that covers t, and its
// time. It is false where the tick at or before t is a gap, or forgotten. In the
// coarse resolution the sample is the last one of the bucket, and its time the
// bucket's end.
func (r *Series) At(t time.Time) (v int64, at time.Time, ok bool) {
	now := r.store.published.Load() // before the state: a state is never behind a view
	st := r.state.Load()
	if now.ticks.empty() {
		return 0, time.Time{}, false
	}
	moment := now.local(t)
	tick := now.ticks.after(moment) - 1
	if tick >= max(st.cursor, now.ticks.first()) {
		v, ok = st.sample(tick)
		return v, now.wall(now.ticks.at(tick)), ok
	}
	bucket := now.buckets.after(moment-r.store.width) - 1
	if bucket < now.firstBucket {
		return 0, time.Time{}, false
	}
	e, ok := st.bucket(bucket)
	return e.last, now.wall(now.buckets.at(bucket) + r.store.width), ok
}

// sample reads one tick in full resolution.
func (st *state) sample(tick int64) (int64, bool) {
	if tick >= st.start {
		if st.head == nil || tick-st.start >= blockTicks {
			return 0, false
		}
		m := st.head.mask()
		i := int(tick - st.start)
		if !m.has(i) {
			return 0, false
		}
		return st.head.at(i), true
	}
	start := st.start - (st.start-tick+blockTicks-1)/blockTicks*blockTicks
	f, ok := st.full.find(start, blockTicks)
	if !ok {
		return 0, false
	}
	var m mask
	var values [blockTicks]int64
	if _, ok := f.decode(blockTicks, &m, values[:]); !ok {
		return 0, false
	}
	i := int(tick - start)
	return values[m.before(i)&(blockTicks-1)], m.has(i)
}

// bucket reads one bucket.
func (st *state) bucket(ordinal int64) (extent, bool) {
	if p := &st.pending; p.known && p.ordinal == ordinal {
		return p.value, true
	}
	start := ordinal &^ (blockBuckets - 1)
	f, ok := st.buckets.find(start, blockBuckets)
	if st.tail.data != "" && st.tail.start == start {
		f, _, ok = takeFrame(st.tail.data)
	}
	var b bucketBlock
	if !ok || !b.decode(&f) {
		return extent{}, false
	}
	i := int(ordinal - start)
	return b.values[i], b.present.has(i)
}

// before counts the values in front of place i.
func (m *mask) before(i int) int {
	return bits.OnesCount64(m[0]&ones(i)) + bits.OnesCount64(m[1]&ones(i-64))
}

// Buckets divides the time (from, to] into n columns of equal width. It uses the
// full resolution where that reaches. Before, a column has the 15 s buckets that
// end in it; where columns are narrower, a bucket is in each column that it
// touches.
func (r *Series) Buckets(from, to time.Time, n int) []metric.Point {
	now := r.store.published.Load() // before the state, as in At
	st := r.state.Load()
	if n <= 0 || !to.After(from) {
		return nil
	}
	c := newColumns(now, from, to, n)
	if !now.ticks.empty() {
		c.addBuckets(now, st, r.store.width)
		c.addSamples(now, st)
	}
	return c.out
}
