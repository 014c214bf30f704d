package simulator

import (
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

	region *allocator.BestFit
	ready  time.Duration
	batch  batch
}

func (p *preallocating) resume(t *task, now time.Duration) error {
	p.ready = now
	return p.build(t)
}

// build reserves the region and places the parameters, with holes between them as
// freed optimiser state leaves.
func (p *preallocating) build(t *task) error {
	size := quantity.Bytes(p.fraction * float64(t.frame.capacity()-t.frame.used))
	f, err := allocator.NewBestFit(t.frame, size/mib*mib)
	if err != nil {
		return err
	}
	p.region, t.memory = f, f
	var holes batch
	for range p.count {
		if _, err := f.Allocate(p.size); err != nil {
			return err
		}
		if err := holes.take(f, p.hole); err != nil {
			return err
		}
	}
	// The last one stays: it would merge with the free rest of the region.
	holes = holes[:len(holes)-1]
	holes.free(f)
	return nil
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
	f := p.region
	t.busy = 0.56 + 0.16*t.random.Float64()
	p.batch.free(f)
	for range 3 + t.random.IntN(4) {
		if err := p.batch.take(f, quantity.Bytes(30+t.random.IntN(400))*mib); err != nil {
			return err
		}
	}
	return nil
}
