package report

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// processSums sums the five-minute rows of a process on a GPU.
type processSums struct {
	*recording.ProcessRow
	command, job string // "" if there is none
	recorded     time.Duration
	parts

	idle     idleRun
	idleHeld snapshot.Float // GiB·h held idle
	pending  float64        // GiB·h of a run that is not yet longer than idleLonger
	doubtful float64        // the part of pending that is wasted only if the run becomes idle holding
	wasted   snapshot.Float // GiB·h; known if a probe reported, or the process was idle
	peak     snapshot.Bytes

	retries, steps counter
	ooms           Count // out-of-memory errors; unknown without a probe's count and without an event
	use            use

	rescued, notRescued int
}

// use is the GPU time (GPU·h) and energy (kWh) of processes. busy, idle and energy cover the time for
// which they are known. If held is unknown for a part of the time (unknown), so are all figures.
type use struct {
	held, busy, idle, energy snapshot.Float
	unknown                  bool
}

func (u *use) join(o *use) {
	u.held, u.busy, u.idle, u.energy = quantity.Sum(u.held, o.held), quantity.Sum(u.busy, o.busy), quantity.Sum(u.idle, o.idle), quantity.Sum(u.energy, o.energy)
	u.unknown = u.unknown || o.unknown
}

func (u *use) document(g *schema.ReportGroup) {
	if !u.unknown {
		g.HeldGPUHours, g.BusyGPUHours, g.IdleGPUHours, g.EnergyKWh = u.held, u.busy, u.idle, u.energy
	}
}

// useOf returns the use in five minutes, times the share of these minutes that is in the period.
func useOf(f *recording.Process5Min, share float64) use {
	scaled := func(count Count, unit float64) snapshot.Float {
		return figure(float64(count.Or(0))*share/unit, count.Known())
	}
	hour, kilowattHour := float64(time.Hour), 3.6e6
	return use{scaled(f.Held, hour), scaled(f.Busy, hour), scaled(f.Idle, hour), scaled(f.Energy, kilowattHour), !f.Held.Known()}
}

// Count is a number, such as a probe's counter.
type Count = quantity.Optional[int64]

func number(n int64) Count { return quantity.From(n, quantity.Computed) }

// counter follows a probe's count, which restarts from 0 with the probe.
type counter struct {
	last  Count
	sum   int64
	known bool
	// The rate is counted/since. Both leave out five minutes that were recorded for less than nearlyWhole.
	counted int64
	since   time.Duration
}

// nearlyWhole is how much of five minutes must be recorded to count for a rate.
const nearlyWhole = 270 * time.Second

func (c *counter) add(count Count, covered time.Duration) (increase int64) {
	v, ok := count.Value()
	if !ok {
		c.last = count
		return 0
	}
	c.known = true
	if before, ok := c.last.Value(); ok {
		if increase = v - before; increase < 0 {
			increase = v
		}
		c.sum += increase
		if covered >= nearlyWhole {
			c.counted += increase
			c.since += covered
		}
	}
	c.last = count
	return increase
}

// add adds five minutes on g, and returns the growth of the counters.
func (p *processSums) add(f *recording.Process5Min, steps Count, g *gpuSums) (retried, stepped int64) {
	p.recorded += f.Covered
	p.parts.add(f.Covered, f.Used.Mean, f.Allocated, f.Cached, f.Fragmented, f.Other)
	if highest, ok := f.Used.Max.Value(); ok && highest >= p.peak.Or(0) {
		p.peak = f.Used.Max
	}

	if !f.Time.Equal(p.idle.next) { // growth during a gap does not count
		p.retries.last, p.steps.last = Count{}, Count{}
	}
	p.addIdle(f, g)
	return p.retries.add(f.AllocRetries, f.Covered), p.steps.add(steps, f.Covered)
}

// addIdle adds the memory that the process held while idle, and what it wasted. A process that uses
// more than idleLeast is idle during idle holding on its GPU, or while the driver reports its own
// utilization as 0 for longer than idleLonger.
func (p *processSums) addIdle(f *recording.Process5Min, g *gpuSums) {
	held := gibHours(f.Used.Mean.Or(0), f.Covered)
	unused := gibHours(f.Cached.Or(0)+f.Fragmented.Or(0), f.Covered)
	share := 0.0
	if g != nil && g.load.over > 0 && f.Used.Min.Or(0) > idleLeast {
		share = float64(g.idleAt.count(f.Time, 5)) / 5
	}
	watched := g != nil && g.load.over > 0 || f.Utilization.Max.Known()
	p.idleHeld = quantity.Sum(p.idleHeld, figure(share*held, watched && f.Used.Mean.Known()))
	p.wasted = quantity.Sum(p.wasted, figure(share*held+(1-share)*unused, share*held > 0 || f.Cached.Known() || f.Fragmented.Known()))

	if !f.Time.Equal(p.idle.next) {
		p.pending, p.doubtful = 0, 0
	}
	idle := isIdle(f.Utilization.Max, f.Used.Min)
	turned := p.idle.add(f.Time, 5*time.Minute, f.Covered, idle)
	if !idle {
		p.pending, p.doubtful = 0, 0
		return
	}
	p.pending += (1 - share) * held
	p.doubtful += (1 - share) * max(held-unused, 0)
	if turned > 0 {
		p.idleHeld = quantity.Sum(p.idleHeld, figure(p.pending, true))
		p.wasted = quantity.Sum(p.wasted, figure(p.doubtful, true))
		p.pending, p.doubtful = 0, 0
	}
}
