package simulator

import (
	"fmt"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

// preallocating is a JAX job. At its start, it reserves a region of most of the GPU, which its allocator
// (BFC) never returns. The largest free block is cached. Free blocks between parameters are fragmented.
type preallocating struct {
	fraction float64        // of the free memory, reserved at the start
	size     quantity.Bytes // of a parameter
	hole     quantity.Bytes // size of the hole between two parameters
	count    int            // of parameters
	compile  time.Duration  // from a fresh start to the first step

	ready time.Duration
}

func (p *preallocating) resume(t *task, now time.Duration) error {
	p.ready = now
	return p.build(t)
}

// build reserves the region and places the parameters in it, with holes between them.
func (p *preallocating) build(t *task) error {
	size := quantity.Bytes(p.fraction*float64(t.frame.capacity()-t.frame.used)) / mib * mib
	if !t.frame.Reserve(size) {
		return fmt.Errorf("reserve a region of %s: %w", size, allocator.ErrOutOfMemory)
	}
	t.region = &allocator.Stats{Reserved: size, PeakReserved: size}
	p.allocate(t.region)
	return nil
}

// allocate sets the stats for the parameters and a batch. Blocks of the batch that fit go into holes.
func (p *preallocating) allocate(s *allocator.Stats, batch ...quantity.Bytes) {
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
	if t.region == nil {
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
	p.allocate(t.region, batch...)
	return nil
}
