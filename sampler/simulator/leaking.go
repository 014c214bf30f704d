package simulator

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

// leaking is a fine-tuning job that leaks leakRate until the GPU is full. When the job is out of
// memory, it skips the batch, flushes and tries again; the third time it exits.
//
// Every saveEvery the job gathers its weights into one buffer to save them. On a nearly full GPU,
// the allocator must free its cache for the buffer, which counts as a retry.
type leaking struct {
	weights
	ladder
	loading time.Duration
	holds   quantity.Bytes // used memory when the story begins

	sound   time.Duration // until then nothing leaks
	strikes int
	pauses  time.Duration // until then the job pauses, after a failed batch
	leaked  batch
}

const (
	leakRate   = 25 * mib // leaked per second
	maxStrikes = 3

	saveSize  = 8704 * mib
	saveEvery = 2 * time.Minute
	saveFirst = 9 * time.Second
)

// resume computes when the leak must have begun so that used memory is holds at the start of the
// story, and leaks up to now.
func (p *leaking) resume(t *task, now time.Duration) error {
	c := t.cache
	if err := p.load(c, p.count); err != nil {
		return err
	}
	if err := p.forward(c, 0, 1); err != nil {
		return err
	}
	p.pauses = now
	p.sound = -time.Second
	for leaked := p.holds - t.used(); ; p.sound -= time.Second {
		if leaked -= leaks(t, p.sound); leaked < 0 {
			break
		}
	}
	for second := p.sound + time.Second; second < now; second += time.Second {
		if err := p.leaked.take(c, leaks(t, second)); err != nil {
			return err
		}
	}
	p.backward(c, 1)
	return nil
}

func (p *leaking) step(t *task, now time.Duration) error {
	c := t.cache
	if loads, err := p.loads(t, 0.06, p.loading); loads {
		return err
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

// train runs one batch. It leaks while all activations are allocated, so that the leak takes memory
// that was not cached.
func (p *leaking) train(t *task, c *allocator.Caching, now time.Duration) error {
	p.finish(c)
	if within(now, saveEvery) == saveFirst {
		if err := save(c); err != nil {
			return err
		}
	}
	if err := p.forward(c, 0, 1); err != nil {
		return err
	}
	if now > p.sound {
		if err := p.leaked.take(c, leaks(t, now)); err != nil {
			return err
		}
	}
	p.backward(c, 1+t.random.IntN(2))
	return nil
}

// save allocates the buffer for the weights, then frees the buffer and the cache.
func save(c *allocator.Caching) error {
	b, err := c.Allocate(saveSize)
	if err != nil {
		return err
	}
	c.Free(b)
	c.Flush()
	return nil
}

// leaks returns the leak of a second: leakRate on average, in multiples of 2 MiB like the sizes of
// large segments. The leak depends only on seed, task and second, so that resume can compute the past.
func leaks(t *task, second time.Duration) quantity.Bytes {
	spread := int(mix(t.box.seed, t.stream()+4, uint64(second/time.Second)) % 4)
	return leakRate + quantity.Bytes(2*spread-3)*mib
}
