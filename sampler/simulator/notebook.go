package simulator

import (
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

// notebook is a user who runs cells. Each cell keeps a result: memory grows in
// steps until every cell has been run, then each result replaces its old one. The
// results that do not fit into the holes make it grow, until a cleanup.
type notebook struct {
	weights
	workspace []quantity.Bytes // what a cell needs while it runs
	holds     quantity.Bytes   // of its instance when the story begins
	cleanup   quantity.Bytes   // above this the kept results are freed

	next    time.Duration // when a cell starts
	until   time.Duration // when the running cell ends
	running bool
	kept    batch
	scrap   batch
}

func (p *notebook) resume(t *task, now time.Duration) error {
	c := t.cache
	if err := p.load(c, p.count); err != nil {
		return err
	}
	if err := p.scrap.take(c, p.workspace...); err != nil {
		return err
	}
	for t.used() < p.holds {
		if err := p.leave(t, c); err != nil {
			return err
		}
	}
	p.scrap.free(c)
	p.next = now + 12*time.Second
	return nil
}

func (p *notebook) step(t *task, now time.Duration) error {
	c := t.cache
	if !p.complete() {
		t.busy = 0.1
		return p.load(c, 1)
	}
	switch {
	case now < p.next:
		return nil
	case !p.running:
		p.running, p.until = true, now+span{4 * time.Second, 18 * time.Second}.draw(t.random)
		if err := p.compute(t, c); err != nil {
			return err
		}
		return p.keep(t, c)
	case now < p.until:
		return p.compute(t, c)
	}
	p.scrap.free(c)
	p.running = false
	p.next = now + span{12 * time.Second, 50 * time.Second}.draw(t.random)
	if t.used() > p.cleanup {
		p.kept.free(c)
		c.Flush()
	}
	return nil
}

// compute is a step of a running cell: new intermediate results for the old.
func (p *notebook) compute(t *task, c *allocator.Caching) error {
	t.busy = 0.5 + 0.3*t.random.Float64()
	p.scrap.free(c)
	return p.scrap.take(c, p.workspace...)
}

// cells is how many a notebook has.
const cells = 18

// keep keeps the result of a cell, in place of the old one.
func (p *notebook) keep(t *task, c *allocator.Caching) error {
	n := len(p.kept)
	if n < cells {
		return p.leave(t, c)
	}
	again := t.random.IntN(n)
	size := p.kept[again].Size()
	c.Free(p.kept[again])
	b, err := c.Allocate(size)
	if err != nil {
		p.kept = slices.Delete(p.kept, again, again+1)
		return err
	}
	p.kept[again] = b
	return nil
}

// leave keeps the result of a new cell. It is new memory, as the workspace has taken
// all of the cache.
func (p *notebook) leave(t *task, c *allocator.Caching) error {
	return p.kept.take(c, quantity.Bytes(220+t.random.IntN(400))*mib)
}
