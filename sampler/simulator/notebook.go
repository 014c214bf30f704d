package simulator

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

// notebook is somebody who runs cells: most leave something behind, so memory
// climbs in steps until the notebook is cleaned up.
type notebook struct {
	weights
	workspace []quantity.Bytes // what a cell needs while it runs
	holds     quantity.Bytes   // of its instance when the story begins
	most      quantity.Bytes   // clean up from here on

	next    time.Duration // when a cell starts
	until   time.Duration // when the running cell ends
	running bool
	kept    []*allocator.Block
	scrap   []*allocator.Block
}

func (p *notebook) resume(t *task, now time.Duration) error {
	c := t.cache
	if err := p.load(c, p.count); err != nil {
		return err
	}
	for _, size := range p.workspace {
		b, err := c.Allocate(size)
		if err != nil {
			return err
		}
		p.scrap = append(p.scrap, b)
	}
	const climb = 10 * mib // a second, about what the cells below leave behind
	full := p.holds + climb*quantity.Bytes(now/time.Second)
	for t.used() < full {
		if err := p.keep(t, c); err != nil {
			return err
		}
	}
	p.drop(c, &p.scrap)
	p.next = now + 12*time.Second
	return nil
}

func (p *notebook) drop(c *allocator.Caching, blocks *[]*allocator.Block) {
	for _, b := range *blocks {
		c.Free(b)
	}
	*blocks = (*blocks)[:0]
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
	p.drop(c, &p.scrap)
	p.running = false
	p.next = now + span{12 * time.Second, 50 * time.Second}.draw(t.random)
	if t.used() > p.most {
		p.drop(c, &p.kept)
		c.Flush()
	}
	return nil
}

// compute is a step of a running cell: new intermediate results for the old.
func (p *notebook) compute(t *task, c *allocator.Caching) error {
	t.busy = 0.5 + 0.3*t.random.Float64()
	p.drop(c, &p.scrap)
	for _, size := range p.workspace {
		b, err := c.Allocate(size)
		if err != nil {
			return err
		}
		p.scrap = append(p.scrap, b)
	}
	return nil
}

// keep is what a cell leaves behind. The workspace takes all of the cache
// meanwhile, so it is new memory.
func (p *notebook) keep(t *task, c *allocator.Caching) error {
	b, err := c.Allocate(quantity.Bytes(220+t.random.IntN(400)) * mib)
	if err == nil {
		p.kept = append(p.kept, b)
	}
	return err
}
