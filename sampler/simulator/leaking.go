package simulator

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

// leaking is a fine-tuning job that keeps something of every step, so that its
// memory grows by leakRate until the GPU is full. It skips a batch for which
// memory did not suffice, flushes, and tries again; the third time it gives up.
//
// Every two minutes it gathers its weights into one buffer to save them. On a
// GPU that is nearly full this succeeds only because the allocator gives its
// cache back and asks again, and counts a retry.
type leaking struct {
	weights
	ladder
	loading time.Duration
	fill    float64 // how full its GPU is when the story starts, of its capacity

	strikes int
	pauses  time.Duration // after a failed batch, until then
}

const (
	leakRate   = 25 * mib // kept per second
	maxStrikes = 3

	saveSize  = 8704 * mib
	saveEvery = 2 * time.Minute
	saveFirst = 9 * time.Second
)

func (p *leaking) resume(t *task, _ time.Duration) error {
	c := t.cache
	if err := p.load(c, p.count); err != nil {
		return err
	}
	if err := p.forward(c, 0, 1); err != nil {
		return err
	}
	full := quantity.Bytes(p.fill * float64(t.frame.capacity()))
	for t.frame.used+leakRate <= full {
		if err := leak(t, c); err != nil {
			return err
		}
	}
	p.backward(c, 1)
	return nil
}

func (p *leaking) step(t *task, now time.Duration) error {
	c := t.cache
	if !p.complete() {
		t.busy = 0.06
		return p.load(c, p.share(p.loading))
	}
	if now < p.pauses {
		return nil
	}
	t.busy = 0.98
	if now%time.Second != 0 {
		return nil
	}
	if err := p.train(t, c, now); err != nil {
		const dataLoaderRestart = 4 * time.Second
		p.finish(c)
		c.Flush()
		p.strikes++
		p.pauses = now + dataLoaderRestart
		if p.strikes >= maxStrikes {
			return err
		}
	}
	return nil
}

// train is one batch. What leaks is kept while all activations are there, so
// it comes from new memory: a leak of the worst kind.
func (p *leaking) train(t *task, c *allocator.Caching, now time.Duration) error {
	p.finish(c)
	if now%saveEvery == saveFirst {
		if err := save(c); err != nil {
			return err
		}
	}
	if err := p.forward(c, 0, 1); err != nil {
		return err
	}
	if err := leak(t, c); err != nil {
		return err
	}
	p.backward(c, 1+t.random.IntN(2))
	return nil
}

// save gathers the weights and lets them go again, with all of the cache.
func save(c *allocator.Caching) error {
	b, err := c.Allocate(saveSize)
	if err != nil {
		return err
	}
	c.Free(b)
	c.Flush()
	return nil
}

// leak allocates a second's worth of it, whole MiB and even, as large segments are.
func leak(t *task, c *allocator.Caching) error {
	_, err := c.Allocate(leakRate + quantity.Bytes(2*t.random.IntN(4)-3)*mib)
	return err
}
