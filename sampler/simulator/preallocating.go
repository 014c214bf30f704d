package simulator

import (
	"fmt"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

// preallocating is a JAX job: it reserves most of the GPU at its start.
type preallocating struct {
	fraction float64        // of the free memory, at the start
	size     quantity.Bytes // of a parameter
	hole     quantity.Bytes // between two parameters
	count    int            // of parameters
	compile  time.Duration  // from a fresh start to the first step

	region *region
	ready  time.Duration
}

// region is the memory of JAX's allocator (BFC), which it never returns. The largest free block is
// cached: any one request up to that size succeeds. Free blocks between parameters are fragmented.
type region struct{ stats allocator.Stats }

// Flush frees nothing: the region stays until the process ends.
func (*region) Flush() quantity.Bytes { return 0 }

// Stats returns the stats.
func (r *region) Stats() allocator.Stats { return r.stats }

func (p *preallocating) resume(t *task, now time.Duration) error {
	p.ready = now
	return p.build(t)
}

// build reserves the region and places the parameters, with holes between them like those of
// freed optimizer state.
func (p *preallocating) build(t *task) error {
	size := quantity.Bytes(p.fraction*float64(t.frame.capacity()-t.frame.used)) / mib * mib
	if !t.frame.Reserve(size) {
		return fmt.Errorf("reserve a region of %s: %w", size, allocator.ErrOutOfMemory)
	}
	p.region = &region{}
	t.memory = p.region
	p.region.stats.Reserved, p.region.stats.PeakReserved = size, size
	p.allocate()
	return nil
}

// allocate sets the stats for the parameters and a batch. Blocks that fit into holes go there.
func (p *preallocating) allocate(batch ...quantity.Bytes) {
	s := &p.region.stats
	s.Allocated = quantity.Bytes(p.count) * p.size
	s.Fragmented = quantity.Bytes(p.count-1) * p.hole
	for _, size := range batch {
		s.Allocated += size
		if size <= p.hole {
			s.Fragmented -= size
		}
	}
	s.Cached = s.Reserved - s.Allocated - s.Fragmented
	s.LargestFree = s.Cached
	s.PeakAllocated = max(s.PeakAllocated, s.Allocated)
}

func (p *preallocating) step(t *task, now time.Duration) error {
	if p.region == nil {
		t.busy = 0.02
		p.ready = now + p.compile
		return p.build(t)
	}
	if now < p.ready {
		return nil
	}
	t.busy = 0.56 + 0.16*t.random.Float64()
	var batch []quantity.Bytes
	for range 3 + t.random.IntN(4) {
		batch = append(batch, quantity.Bytes(30+t.random.IntN(400))*mib)
	}
	p.allocate(batch...)
	return nil
}
