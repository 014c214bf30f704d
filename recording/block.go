package recording

import (
	"encoding/binary"
	"errors"
	"slices"

	"vramscope/sampler/store"
)

// block is the ticks that are not sealed yet, with the samples of every series.
type block struct {
	times   [store.BlockTicks]int64 // ns
	n       int
	columns []*column // by series
}

// column is a series in the block.
type column struct {
	series int64
	store.Block
	listed bool // in a row of the tail since the block began
	known  bool // at the tick before
	last   int64
	ended  bool // no sample follows: it leaves with the block
}

// codecs of ticks, chunks.
const (
	codecBlock = 1 // store.Block; ticks: each time less from_ns
)

// set sets the sample of the newest tick.
func (b *block) set(c *column, v int64) { c.Set(b.n-1, v) }

// A row of the tail has what has changed since the row before: for each series
// that is new or has changed, in order, its distance to the one before and whether
// it is known; then the difference to its value before.
//
//	(distance<<1 | known  [difference])*
//
// The first row after a sealed block has every series.

// appendTail encodes the newest tick.
func (b *block) appendTail(dst []byte) []byte {
	before := int64(0)
	for _, c := range b.columns {
		v, known := c.At(b.n - 1)
		if c.listed && known == c.known && (!known || v == c.last) || !c.listed && c.ended {
			continue
		}
		distance := uint64(c.series-before) << 1
		before = c.series
		if known {
			dst = binary.AppendUvarint(dst, distance|1)
			dst = binary.AppendVarint(dst, v-c.last)
			c.last = v
		} else {
			dst = binary.AppendUvarint(dst, distance)
		}
		c.listed, c.known = true, known
	}
	return dst
}

var errTail = errors.New("a row of the tail is damaged")

// replay adds a tick from a row of the tail.
func (b *block) replay(t int64, data []byte) error {
	if b.n == len(b.times) {
		return errTail
	}
	b.times[b.n] = t
	b.n++
	for series := int64(0); len(data) > 0; {
		head, n := binary.Uvarint(data)
		if n <= 0 || head>>1 == 0 || head>>1 > 1<<40 {
			return errTail
		}
		data = data[n:]
		series += int64(head >> 1)
		c := b.column(series)
		c.listed, c.known = true, head&1 != 0
		if c.known {
			difference, n := binary.Varint(data)
			if n <= 0 {
				return errTail
			}
			data = data[n:]
			c.last += difference
		}
	}
	for _, c := range b.columns {
		if c.known {
			b.set(c, c.last)
		}
	}
	return nil
}

// column finds a series, or adds it.
func (b *block) column(series int64) *column {
	i, found := slices.BinarySearchFunc(b.columns, series, func(c *column, s int64) int { return int(c.series - s) })
	if !found {
		b.columns = slices.Insert(b.columns, i, &column{series: series})
	}
	return b.columns[i]
}

// reset begins the next block.
func (b *block) reset() {
	b.n = 0
	b.columns = slices.DeleteFunc(b.columns, func(c *column) bool { return c.ended })
	for _, c := range b.columns {
		c.Reset()
		c.listed, c.known, c.last = false, false, 0
	}
}

// ticks encodes the times.
func (b *block) ticks() []byte {
	var times store.Block
	for i, t := range b.times[:b.n] {
		times.Set(i, t-b.times[0])
	}
	return times.Append(nil)
}

// decodeTicks is the reverse.
func decodeTicks(from int64, data []byte) []int64 {
	var block store.Block
	if !block.Decode(data) {
		return nil
	}
	times := make([]int64, 0, block.Count())
	for i := range store.BlockTicks {
		if t, ok := block.At(i); ok {
			times = append(times, from+t)
		}
	}
	return times
}
