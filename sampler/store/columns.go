package store

import (
	"time"

	"vramscope/metric"
)

// columns gathers samples, oldest first, into columns of equal width.
type columns struct {
	out      []metric.Point
	from, to int64 // on the store's time scale
	quotient int64 // the width in ns, and
	rest     int64 // the rest of the division, spread over all
	next     int   // the column of the sample before
	narrow   bool  // columns are narrower than buckets
}

func newColumns(now *view, from, to time.Time, n int) *columns {
	c := &columns{out: make([]metric.Point, n), from: now.local(from), to: now.local(to)}
	c.quotient = (c.to - c.from) / int64(n)
	c.rest = (c.to - c.from) % int64(n)
	for i := range c.out {
		c.out[i].Time = from.Add(time.Duration(c.end(i) - c.from))
	}
	c.out[n-1].Time = to
	return c
}

// end is the last moment of column i.
func (c *columns) end(i int) int64 {
	k := int64(i + 1)
	return c.from + c.quotient*k + c.rest*k/int64(len(c.out))
}

// column is the column of a moment in (from, to]. Moments come in order.
func (c *columns) column(t int64) int {
	for c.end(c.next) < t {
		c.next++
	}
	return c.next
}

func (c *columns) add(i int, e extent) {
	b := &c.out[i]
	if !b.Known {
		*b = metric.Point{Time: b.Time, Min: e.min, Max: e.max, Last: e.last, Known: true}
		return
	}
	b.Min, b.Max, b.Last = min(b.Min, e.min), max(b.Max, e.max), e.last
}

// addBuckets adds the coarse resolution.
func (c *columns) addBuckets(now *view, st *state, width int64) {
	c.narrow = c.quotient < width
	first := max(now.firstBucket, now.buckets.after(c.from-width))
	end := min(now.buckets.after(c.to), now.buckets.end)
	var b bucketBlock
	visit := func(start int64, f *frame, fresh bool) {
		if fresh && !b.decode(f) {
			return
		}
		for i := range b.values {
			if ordinal := start + int64(i); ordinal >= first && ordinal < end && b.present.has(i) {
				begin := now.buckets.at(ordinal)
				c.addBucket(begin, begin+width, b.values[i])
			}
		}
	}
	st.buckets.blocks(first, end, blockBuckets, visit)
	if f, _, ok := takeFrame(st.tail.data); ok {
		visit(st.tail.start, &f, true)
	}
	if p := &st.pending; p.known && p.ordinal >= first && p.ordinal < end {
		begin := now.buckets.at(p.ordinal)
		stop := begin + width
		if st.cursor < now.ticks.end {
			stop = min(stop, now.ticks.at(st.cursor)) // the full resolution follows
		}
		c.addBucket(begin, stop, p.value)
	}
}

// addBucket adds a bucket whose samples lie in [begin, stop).
func (c *columns) addBucket(begin, stop int64, e extent) {
	if !c.narrow {
		if stop > c.from && stop <= c.to {
			c.add(c.column(stop), e)
		}
		return
	}
	if stop <= c.from || begin > c.to {
		return
	}
	for i := c.column(max(begin, c.from+1)); i < len(c.out); i++ {
		if i > 0 && c.end(i-1)+1 >= stop {
			break
		}
		c.add(i, e)
	}
}

// addSamples adds the full resolution.
func (c *columns) addSamples(now *view, st *state) {
	first := max(st.cursor, now.ticks.after(c.from))
	end := now.ticks.after(c.to)
	c.next = 0
	var m mask
	var values [blockTicks]int64
	st.full.blocks(first, end, blockTicks, func(start int64, f *frame, fresh bool) {
		if fresh {
			if _, ok := f.decode(blockTicks, &m, values[:]); !ok {
				m = mask{}
			}
		}
		n := 0
		for i := range blockTicks {
			if !m.has(i) {
				continue
			}
			v := values[n]
			n++
			if tick := start + int64(i); tick >= first && tick < end {
				c.add(c.column(now.ticks.at(tick)), extent{v, v, v})
			}
		}
	})
	if st.head == nil {
		return
	}
	m = st.head.mask()
	for tick := max(first, st.start); tick < min(end, st.start+blockTicks); tick++ {
		if i := int(tick - st.start); m.has(i) {
			v := st.head.at(i)
			c.add(c.column(now.ticks.at(tick)), extent{v, v, v})
		}
	}
}
