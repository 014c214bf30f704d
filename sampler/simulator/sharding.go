package simulator

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

// sharding is a recommender whose embedding tables are replaced by tables of other
// sizes: nearly half of its memory is fragmented.
type sharding struct {
	weights               // the tables
	spare   int           // whole free segments, each as large as a table with its hole
	loading time.Duration // of a fresh start
	swap    time.Duration // how often a table is replaced

	batch batch
}

func (p *sharding) resume(t *task, _ time.Duration) error {
	c := t.cache
	if err := p.load(c, p.count); err != nil {
		return err
	}
	return p.warm(c)
}

// warm allocates and frees the segments that the largest batches need.
func (p *sharding) warm(c *allocator.Caching) error {
	for range p.spare {
		if err := p.batch.take(c, p.size+p.hole); err != nil {
			return err
		}
	}
	p.batch.free(c)
	return nil
}

func (p *sharding) step(t *task, now time.Duration) error {
	c := t.cache
	if !p.complete() {
		t.busy = 0.05
		if err := p.load(c, p.share(p.loading)); err != nil || !p.complete() {
			return err
		}
		return p.warm(c)
	}
	t.busy = 0.71
	p.batch.free(c)
	for range 2 + t.random.IntN(6) {
		if err := p.batch.take(c, quantity.Bytes(8+t.random.IntN(110))*mib); err != nil {
			return err
		}
	}
	if now%p.swap == 0 {
		return p.replace(t, c)
	}
	return nil
}

// replace frees a table and loads another of about its size. No two fit into one
// segment, so that the holes stay.
func (p *sharding) replace(t *task, c *allocator.Caching) error {
	i := t.random.IntN(len(p.blocks))
	c.Free(p.blocks[i])
	b, err := c.Allocate(p.size + quantity.Bytes(t.random.IntN(40)-10)*mib)
	if err != nil {
		return err
	}
	p.blocks[i] = b
	return nil
}
