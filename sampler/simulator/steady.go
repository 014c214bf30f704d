package simulator

import (
	"time"

	"vramscope/internal/quantity"
)

// steady is a program without a probe that takes its memory within ramp and keeps about as much.
type steady struct {
	size   quantity.Bytes
	ramp   time.Duration  // time from the start until all memory is taken
	swing  quantity.Bytes // by how much its memory varies
	period time.Duration  // of swing
	load   float64        // share of the time in which the GPU is busy, while the program works
	rest   float64        // share of the time without work
}

func (p *steady) resume(t *task, now time.Duration) error { return t.hold(p.target(t, now)) }

func (p *steady) step(t *task, now time.Duration) error {
	if p.load > 0 && wander(t.box.seed, t.stream()+1, now.Seconds(), 20) > 2*p.rest-1 {
		t.busy = p.load * (0.8 + 0.4*t.random.Float64())
	}
	return t.hold(p.target(t, now))
}

// target returns the memory that the task should have now, in the granularity of the driver.
func (p *steady) target(t *task, now time.Duration) quantity.Bytes {
	size := p.size
	if p.swing > 0 {
		size += quantity.Bytes(float64(p.swing) * wander(t.box.seed, t.stream(), now.Seconds(), p.period.Seconds()))
	}
	if age := now - t.started; age < p.ramp {
		size = quantity.Bytes(float64(size) * float64(age) / float64(p.ramp))
	}
	const granule = 2 * mib
	return size / granule * granule
}
