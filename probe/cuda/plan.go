package cuda

import (
	"fmt"

	"vramscope/internal/quantity"
)

const chunk = 32 * quantity.MiB // a memory pool grows by this at least

// SmallestSize is the smallest size for a pattern.
const SmallestSize = 128 * quantity.MiB

const spare = 512 * quantity.MiB // kept free for other processes

// plan divides a size into equal blocks. A block's size divides a chunk, so a pool that has as much
// unused memory need not grow for a block. The permanent blocks, whole chunks of them, are always
// live, like a model's weights.
type plan struct {
	block             quantity.Bytes // size of one
	blocks, permanent int
	pool              quantity.Bytes // the most that the pool may reserve
}

func newPlan(pattern Pattern, size quantity.Bytes, seed uint64) (plan, error) {
	if size < SmallestSize {
		return plan{}, fmt.Errorf("%s is too small for a pattern: %s at least", size, SmallestSize)
	}
	p := plan{block: chunk / 2, pool: down(size, chunk)}
	permanent := down(p.pool/1000*quantity.Bytes(pattern.permanent()), chunk)
	// At least 64 blocks come and go; for odd seeds twice as many.
	for (p.pool-permanent)/p.block < 64 {
		p.block /= 2
	}
	if seed%2 == 1 {
		p.block /= 2
	}
	p.blocks, p.permanent = int(p.pool/p.block), int(permanent/p.block)
	return p, nil
}

func down(size, unit quantity.Bytes) quantity.Bytes { return size / unit * unit }

func up(size, unit quantity.Bytes) quantity.Bytes { return down(size+unit-1, unit) }
