package simulator

import (
	"cmp"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

// serving is an LLM server: mainly weights and a preallocated key-value cache, which never change.
// Requests come in waves. It also plays a notebook, which keeps variables and runs cells now and then.
type serving struct {
	weights
	workspace []quantity.Bytes
	loading   time.Duration // how long a fresh start loads
	quiet     time.Duration // when the first wave begins
	busy      float64       // share of the time in which the GPU is busy; 0: in waves

	until  time.Duration // end of the present wave or quiet time
	demand float64       // the largest busy share in the present wave; 0: quiet
	work   *allocator.Block
}

func (p *serving) resume(t *task, _ time.Duration) error {
	c := t.cache
	if err := p.load(c, p.count); err != nil {
		return err
	}
	p.until = p.quiet
	return p.warm(c)
}

// warm runs the largest batch once, as servers do at their start.
func (p *serving) warm(c *allocator.Caching) error {
	var largest batch
	if err := largest.take(c, p.workspace...); err != nil {
		return err
	}
	largest.free(c)
	return nil
}

func (p *serving) step(t *task, now time.Duration) error {
	c := t.cache
	if loads, err := p.loads(t, 0.03, p.loading); loads {
		if err != nil || !p.complete() {
			return err
		}
		return p.warm(c)
	}
	if p.work != nil {
		c.Free(p.work)
		p.work = nil
	}
	if p.busy == 0 && now >= p.until {
		p.turn(t, now)
	}
	if p.busy == 0 && p.demand == 0 {
		return nil
	}
	t.busy = cmp.Or(p.busy, p.demand*(0.6+0.4*t.random.Float64()))
	var err error
	p.work, err = c.Allocate(p.workspace[t.random.IntN(len(p.workspace))] / 2)
	return err
}

func (p *serving) turn(t *task, now time.Duration) {
	if p.demand > 0 {
		p.demand = 0
		p.until = now + span{40 * time.Second, 16 * time.Minute}.draw(t.random)
		return
	}
	p.demand = 0.06 + 0.34*t.random.Float64()
	p.until = now + span{time.Minute, 9 * time.Minute}.draw(t.random)
}
