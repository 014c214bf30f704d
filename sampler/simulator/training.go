package simulator

import (
	"time"
)

// training is a job that trains in epochs. Within an epoch, sequences get longer and memory grows. At
// the end, the job validates and flushes its cache, so memory falls: a sawtooth. Ranks of one job see
// batches of the same length at the same time.
type training struct {
	weights
	ladder
	loading time.Duration // how long the weights load after a fresh start
	epoch   time.Duration // 0: no epochs, all sequences have one length
	begins  time.Duration // where in the epoch the story starts
	buckets int           // number of sequence lengths in an epoch
	every   int           // steps of the simulation per training step

	validating bool
	longest    int // the highest bucket for which the cache has segments, from 1; 0: the cache is empty
}

const validation = 9 * time.Second

// bucket returns the index of the present sequence length. It returns false while validating.
func (p *training) bucket(now time.Duration) (int, bool) {
	if p.epoch == 0 {
		return 0, true
	}
	at := within(now+p.begins, p.epoch)
	if at >= p.epoch-validation {
		return 0, false
	}
	return int(at) * p.buckets / int(p.epoch-validation), true
}

func (p *training) resume(t *task, now time.Duration) error {
	c := t.cache
	if err := p.load(c, p.count); err != nil {
		return err
	}
	bucket, _ := p.bucket(now)
	for shift := range bucket + 1 {
		p.finish(c)
		if err := p.forward(c, shift, 1); err != nil {
			return err
		}
	}
	p.backward(c, 1)
	p.longest = bucket + 1
	return nil
}

func (p *training) step(t *task, now time.Duration) error {
	c := t.cache
	if loads, err := p.loads(t, 0.08, p.loading); loads {
		return err
	}
	bucket, training := p.bucket(now)
	if p.validating != !training {
		p.validating = !training
		p.finish(c)
		c.Flush()
		p.longest = 0
	}
	t.busy = 0.97
	if p.validating {
		t.busy = 0.55
	}
	if int(now/step)%p.every != 0 {
		return nil
	}
	p.finish(c)
	if p.validating {
		// Without gradients, the activations of only one layer live at a time.
		b, err := c.Allocate(p.rung(p.rungs - 1))
		if err != nil {
			return err
		}
		c.Free(b)
		return nil
	}
	// The first batch of a bucket is the longest, so that the other batches fit into its segments.
	padding := 1.0
	if p.longest > bucket {
		padding -= 0.03 * t.random.Float64()
	}
	p.longest = max(p.longest, bucket+1)
	if err := p.forward(c, bucket, padding); err != nil {
		return err
	}
	p.backward(c, 1+t.random.IntN(2))
	return nil
}
