package store

import (
	"time"

	"vramscope/metric"
)

// columns gathers samples, oldest first, into columns of equal width.
type columns struct {
	out      []metric.Point
	from, to int64 // on the store's time scale
	quotient int64 // width of a column in ns, rounded down
	rest     int64 // remainder of the width, spread over all columns
	next     int   // the column of the last sample
	until    int64 // the end of column next
	narrow   bool  // columns are narrower than buckets
}

func newColumns(s *Store, from, to time.Time, n int) *columns {
	c := &columns{out: make([]metric.Point, n), from: s.local(from), to: s.local(to)}
	c.quotient = (c.to - c.from) / int64(n)
	c.rest = (c.to - c.from) % int64(n)
	for i := range c.out {
		c.out[i].Time = from.Add(time.Duration(c.end(i) - c.from))
	}
	c.out[n-1].Time = to
	c.until = c.end(0)
	return c
}

// end returns the last moment of column i.
func (c *columns) end(i int) int64 {
	k := int64(i + 1)
	return c.from + c.quotient*k + c.rest*k/int64(len(c.out))
}

// column returns the column of a moment in (from, to]. Moments must come in order.
func (c *columns) column(t int64) int {
	for c.until < t {
		c.next++
		c.until = c.end(c.next)
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

func (c *columns) addBuckets(r *Series) {
	s := r.store
	c.narrow = c.quotient < s.width
	first := max(s.oldestBucket(), s.buckets.after(c.from-s.width))
	end := s.buckets.after(c.to)
	full := s.ticks.at(max(r.oldest(), s.ticks.first))
	var b bucketBlock
	r.buckets.each(first, end, func(start int64, f frame) {
		b.decode(f)
		for i := range b.values {
			if ordinal := start + int64(i); ordinal >= first && ordinal < end && b.present.has(i) {
				begin := s.buckets.at(ordinal)
				c.addBucket(begin, min(begin+s.width, full), b.values[i])
			}
		}
	})
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

func (c *columns) addSamples(r *Series) {
	ticks := &r.store.ticks
	first, end := max(r.oldest(), ticks.after(c.from)), ticks.after(c.to)
	c.next, c.until = 0, c.end(0)
	var m mask
	var values [blockPlaces]int64
	add := func(start int64) {
		n := 0
		for i := range blockPlaces {
			if !m.has(i) {
				continue
			}
			v := values[n]
			n++
			if tick := start + int64(i); tick >= first && tick < end {
				c.add(c.column(ticks.at(tick)), extent{v, v, v})
			}
		}
	}
	r.full.each(first, end, func(start int64, f frame) {
		if _, ok := f.decode(&m, values[:]); ok {
			add(start)
		}
	})
	m = r.head.present
	r.head.collect(&values)
	add(r.start)
}
