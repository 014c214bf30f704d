package cuda

import (
	"fmt"

	"vramscope/internal/quantity"
)

// chunk is the step by which a memory pool grows.
const chunk = 32 * quantity.MiB

// SmallestSize is the smallest size for a pattern.
const SmallestSize = 128 * quantity.MiB

// spare is always kept free for other processes.
const spare = 512 * quantity.MiB

// plan divides a size.
//
//	size ≥ pool ┬ permanent  a few large blocks, whole chunks each
//	            └ blocks     many small ones, whose size divides a chunk
//
// So a chunk either belongs to one large block or consists of small blocks, and a
// small block fits without growth if and only if its size is unused in the pool.
type plan struct {
	permanent []quantity.Bytes // sizes of the large blocks
	block     quantity.Bytes   // size of a small one
	blocks    int
	pool      quantity.Bytes // the most that the pool may reserve
}

func newPlan(pattern Pattern, size quantity.Bytes, seed uint64) (plan, error) {
	if size < SmallestSize {
		return plan{}, fmt.Errorf("%s is too small for a pattern: %s at least", size, SmallestSize)
	}
	var p plan
	p.pool = down(size, chunk)
	permanent := down(p.pool/1000*quantity.Bytes(pattern.permanent()), chunk)
	p.permanent = divide(permanent, 16)
	moving := p.pool - permanent
	// Tens to hundreds of small blocks, at least two in a chunk; odd seeds have twice as many.
	p.block = chunk / 2
	if size < 32*quantity.GiB {
		p.block = chunk / 4
	}
	for moving/p.block < 64 {
		p.block /= 2
	}
	if seed%2 == 1 {
		p.block /= 2
	}
	p.blocks = int(moving / p.block)
	return p, nil
}

// divide cuts a size into at most this many parts, each a multiple of chunk; the first gets the
// remainder.
func divide(size quantity.Bytes, parts int) []quantity.Bytes {
	units := int(size / chunk)
	parts = min(parts, units)
	var sizes []quantity.Bytes
	for i := range parts {
		n := units / parts
		if i == 0 {
			n += units % parts
		}
		sizes = append(sizes, quantity.Bytes(n)*chunk)
	}
	return sizes
}

func down(size, unit quantity.Bytes) quantity.Bytes { return size / unit * unit }

func up(size, unit quantity.Bytes) quantity.Bytes { return down(size+unit-1, unit) }
