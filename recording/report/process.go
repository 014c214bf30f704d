package report

import (
	"time"

	"vramscope/sampler/snapshot"
)

// processSums is what becomes of the five minutes of a process on a GPU.
type processSums struct {
	Process
	recorded time.Duration

	used, allocated, cached, fragmented, other part

	idle     idleRun
	idleHeld part    // GiB·h held idle
	pending  float64 // GiB·h of a run that may turn out to be idle
	spared   float64 // of it what counts as wasted anyway
	wasted   float64
	peak     snapshot.Bytes

	retries, steps counter
	ooms           int
}

// counter follows a count that a probe reports; it begins anew where a probe does.
type counter struct {
	last  snapshot.Int
	since time.Duration // recorded with a count at both ends
	sum   int64
	known bool
}

func (c *counter) add(count snapshot.Int, covered time.Duration) (increase int64) {
	v, ok := count.Value()
	if !ok {
		c.last = count
		return 0
	}
	c.known = true
	if before, ok := c.last.Value(); ok {
		if increase = int64(v - before); increase < 0 {
			increase = int64(v)
		}
		c.sum += increase
		c.since += covered
	}
	c.last = count
	return increase
}

// add takes five minutes, with the GPU that they were on. It returns by how much
// the counters have grown.
func (p *processSums) add(f *FiveMinutes, g *gpuSums) (retries, steps int64) {
	const step = 5 * time.Minute
	p.recorded += f.Covered
	p.used.add(f.Used.Mean, f.Covered)
	p.allocated.add(f.Allocated.Mean, f.Covered)
	p.cached.add(f.Cached.Mean, f.Covered)
	p.fragmented.add(f.Fragmented.Mean, f.Covered)
	p.other.add(f.Other.Mean, f.Covered)
	if highest, ok := f.Used.Max.Value(); ok && highest >= p.peak.Or(0) {
		p.peak = f.Used.Max
	}

	held := gibHours(f.Used.Mean.Or(0), f.Covered)
	unused := gibHours(f.Cached.Mean.Or(0)+f.Fragmented.Mean.Or(0), f.Covered)
	idle, known := idleProcess(f, g)
	p.idleHeld.known = p.idleHeld.known || known
	was := p.idle.pending > 0 && p.idle.next.Equal(f.Time)
	turned := p.idle.add(f.Time, step, f.Covered, idle)
	if !was {
		p.pending, p.spared = 0, 0
	}
	p.wasted += unused
	switch {
	case !idle:
		p.pending, p.spared = 0, 0
	case turned == 0: // perhaps
		p.pending, p.spared = p.pending+held, p.spared+unused
	default:
		p.idleHeld.gibHours += p.pending + held
		p.wasted += p.pending - p.spared + held - unused
		p.pending, p.spared = 0, 0
	}
	return p.retries.add(f.Retries, f.Covered), p.steps.add(f.Steps, f.Covered)
}

// idleProcess reports whether a process held memory without computing: by its own
// utilisation or, where the driver does not report that, by its GPU's.
func idleProcess(f *FiveMinutes, g *gpuSums) (idle, known bool) {
	if f.Utilization.Max.Known() {
		return isIdle(f.Utilization.Max, f.Used.Min), true
	}
	if g == nil || g.busyOver == 0 {
		return false, false
	}
	return f.Used.Min.Or(0) > idleLeast && g.idleAt.all(f.Time, 5), true
}
