package simulator

import (
	"math"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

const (
	mib = quantity.MiB
	gib = quantity.GiB
)

// batch holds blocks that a program frees together.
type batch []*allocator.Block

func (b *batch) take(c *allocator.Caching, sizes ...quantity.Bytes) error {
	for _, size := range sizes {
		block, err := c.Allocate(size)
		if err != nil {
			return err
		}
		*b = append(*b, block)
	}
	return nil
}

func (b batch) bytes() (sum quantity.Bytes) {
	for _, block := range b {
		sum += block.Size()
	}
	return sum
}

func (b *batch) free(c *allocator.Caching) {
	for _, block := range *b {
		c.Free(block)
	}
	*b = (*b)[:0]
}

// weights is the memory that a program allocates once and keeps: parameters, optimizer state, its own
// caches. Each tensor takes the place of a larger scratch buffer. The hole behind the tensor is fragmented.
type weights struct {
	size  quantity.Bytes // of one tensor
	hole  quantity.Bytes // behind each tensor; smaller than a tensor, so that no tensor fits into a hole
	count int
	small bool // each tensor comes with biases and norms, which go to the small pool
	holes int  // how many of the first tensors have a hole behind them; 0: all

	blocks batch // the loaded tensors
}

func (w *weights) complete() bool { return len(w.blocks) >= w.count }

func (w *weights) load(c *allocator.Caching, count int) error {
	for ; count > 0 && !w.complete(); count-- {
		hole := w.hole
		if w.holes > 0 && len(w.blocks) >= w.holes {
			hole = 0
		}
		if hole > 0 {
			scratch, err := c.Allocate(w.size + hole)
			if err != nil {
				return err
			}
			c.Free(scratch)
		}
		if err := w.blocks.take(c, w.size); err != nil {
			return err
		}
		if err := w.loadSmall(c); err != nil {
			return err
		}
	}
	return nil
}

// loadSmall allocates the small tensors of the newest tensor: a norm, and a bias that is converted
// first, which leaves a hole.
func (w *weights) loadSmall(c *allocator.Caching) error {
	if !w.small {
		return nil
	}
	const unit = 8 << 10
	size := quantity.Bytes(unit * (1 + len(w.blocks)%5))
	original, err := c.Allocate(2 * size)
	if err != nil {
		return err
	}
	for range 2 {
		if _, err := c.Allocate(size); err != nil {
			return err
		}
	}
	c.Free(original)
	return nil
}

// loads loads the tensors of one step, so that all are loaded after the time over, and reports
// whether any were left to load. busy is the task's busy share meanwhile.
func (w *weights) loads(t *task, busy float64, over time.Duration) (bool, error) {
	if w.complete() {
		return false, nil
	}
	t.busy = busy
	return true, w.load(t.cache, max(1, w.count*int(step)/int(over)))
}

// ladder is the activations of one training step: tensors of growing size, one for each layer. Longer
// sequences move every layer one rung up: each layer takes the segment of the layer above, and one
// new segment is needed.
type ladder struct {
	first quantity.Bytes // size of the lowest rung
	ratio float64        // from one rung to the next
	rungs int

	live batch
}

func (l *ladder) rung(i int) quantity.Bytes {
	return quantity.Bytes(float64(l.first) * math.Pow(l.ratio, float64(i)))
}

// forward allocates the activations of sequences that are shift rungs longer than the shortest.
// Each tensor fills the share padding of its rung, at most 1.
func (l *ladder) forward(c *allocator.Caching, shift int, padding float64) error {
	for i := range l.rungs {
		if err := l.live.take(c, quantity.Bytes(float64(l.rung(i+shift))*padding)); err != nil {
			return err
		}
	}
	return nil
}

// backward frees all rungs but the lowest keep. If keep is not 0, the lowest freed rung is pending, as
// if the stream that averages the gradients still used it.
func (l *ladder) backward(c *allocator.Caching, keep int) {
	for i := len(l.live) - 1; i >= keep; i-- {
		if i == keep && keep > 0 {
			c.FreeLater(l.live[i])
		} else {
			c.Free(l.live[i])
		}
	}
	l.live = l.live[:min(keep, len(l.live))]
}

// finish frees the last step's remaining activations.
func (l *ladder) finish(c *allocator.Caching) {
	c.Settle()
	l.backward(c, 0)
}
