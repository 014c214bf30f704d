package sampler

import (
	"maps"
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// predict puts forecasts into the row for each known figure. The forecasts start at the row's second
// tick, because a command that samples once needs none.
func (r *row) predict(now time.Time, p *snapshot.Process, free quantity.Bytes, every pace) {
	allocated := freshlyAllocated(p)
	if r.latest != nil {
		if used, ok := p.Used.Value(); ok {
			r.watchLoad(now, p.Started, used, free, p.Steps.Or(0))
		}
		r.outlook.observe(now, p.Used, every)
		r.bound(p.Used.Or(0), free)
		r.allocated.observe(now, allocated, every)
	}
	if allocated.Known() {
		p.PredictedAllocated = r.allocated.predicted
	}
	switch {
	case !p.Used.Known():
	case r.outlook.at.IsZero():
		p.Trend, p.Doubt = snapshot.TrendYoung, snapshot.Young
	default:
		p.Predicted, p.Doubt = r.outlook.predicted, r.doubt()
		p.Trend, p.GrowthPerSecond = r.trend(allocated.Known())
	}
	if p.Allocated.Known() {
		if r.peaks == nil {
			r.peaks = new(snapshot.Peaks)
		}
		r.peaks.Add(now, p)
		p.Demand = r.peaks.Demand(now, p)
	}
}

func (r *row) doubt() snapshot.Doubt {
	switch {
	case r.load.rebuilds && !r.load.over:
		return snapshot.Rebuilding
	case r.load.unbelieved():
		return snapshot.Loading
	case r.held:
		return snapshot.Unsteady
	}
	return r.outlook.doubt()
}

// freshlyAllocated returns the allocated memory that the process's probe reports, unknown if the
// report is old.
func freshlyAllocated(p *snapshot.Process) snapshot.Bytes {
	if p.Probe == nil || p.Probe.State != snapshot.ProbeLive {
		return snapshot.Bytes{}
	}
	return p.Allocated
}

// trend returns the trend of the row's memory, and its growth. If a probe reports allocated memory,
// allocated memory decides whether there is a leak: a growing cache can be flushed, and a leak into
// a cache does not show in used memory.
func (r *row) trend(probed bool) (snapshot.Trend, snapshot.Bytes) {
	used, inside := &r.outlook, &r.allocated
	switch {
	case !probed || inside.trend == forecast.Young || (used.trend == forecast.Leak) == (inside.trend == forecast.Leak):
		return snapshot.TrendYoung + snapshot.Trend(used.trend), used.growth // the two types have the same order
	case inside.trend == forecast.Leak:
		return snapshot.TrendLeak, inside.growth
	default:
		return snapshot.TrendGrowing, used.growth
	}
}

// agree makes a snapshot's forecasts agree with its alerts, its memory and each other. An alert
// outlasts the forecast that raised it by some snapshots.
func (s *Sampler) agree(snap *snapshot.Snapshot) {
	for i := range snap.Alerts {
		a := &snap.Alerts[i]
		if full, g := s.alerts.FullIn(a), snap.GPU(a.GPUUUID); full != nil && g != nil {
			g.OutlookOf(a.Instance).FullIn = full
		}
	}
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		g.Agree(&g.Memory)
		for j := range g.Instances {
			in := &g.Instances[j]
			in.Agree(&in.Memory)
		}
	}
	for i := range snap.Rows {
		p := &snap.Rows[i]
		if g := snap.GPU(p.ID.GPUUUID); g != nil {
			m := *g.MemoryOf(p.ID.Instance)
			m.Used = p.Used
			p.Agree(&m)
		}
	}
}

// predictGPU puts the forecasts of a GPU and its MIG instances into the snapshot.
func (s *Sampler) predictGPU(now time.Time, g *gpu, out *snapshot.GPU, rows []snapshot.Process) {
	out.Outlook = s.outlookOf(now, &g.expected, &region{&out.Memory, rows, func(p *snapshot.Process) bool { return p.ID.GPUUUID == out.UUID }})
	if out.MIG { // under MIG a process can use only its instance
		out.FullIn, out.Doubt = nil, g.expected.doubt()
	}
	if g.fresh != nil { // without a fresh reading the instances are unknown
		maps.DeleteFunc(g.instances, func(id snapshot.InstanceID, _ *expected) bool { return out.Instance(id) == nil })
	}
	for _, o := range g.instances {
		if len(out.Instances) == 0 {
			o.observe(now, snapshot.Bytes{}, quickPace)
		}
	}
	for i := range out.Instances {
		in := &out.Instances[i]
		o := g.instances[in.ID]
		if o == nil || o.uuid != in.UUID {
			o = &expected{uuid: in.UUID}
			g.instances[in.ID] = o
		}
		in.Outlook = s.outlookOf(now, o, &region{&in.Memory, rows, func(p *snapshot.Process) bool { return p.ID.GPUUUID == out.UUID && p.ID.Instance == in.ID }})
	}
}

type region struct {
	*snapshot.Memory
	rows  []snapshot.Process
	holds func(*snapshot.Process) bool // whether a row is in the region
}

type expected struct {
	outlook
	last snapshot.Outlook
	uuid string // UUID of a MIG instance; an instance that is created again with the same IDs has another UUID
}

// outlookOf gives the memory of a GPU or instance to its forecaster, and returns its outlook.
func (s *Sampler) outlookOf(now time.Time, o *expected, at *region) snapshot.Outlook {
	o.observe(now, at.Used, quickPace)
	loads := s.loadsAt(at)
	if loads.first && o.forecaster != nil {
		o.forecaster.Excuse() // forecasts that the load proves wrong are not scored
	}
	if !at.Used.Known() {
		return snapshot.Outlook{}
	}
	if o.at.Equal(now) {
		o.last = s.predict(now, &o.outlook, at, loads)
	}
	out := o.last
	out.Doubt, out.FullIn = o.doubt(), out.FullIn.After(now.Sub(o.at))
	if out.FullIn == nil {
		at.doubt(&out)
	}
	return out
}

// doubt copies the doubt of the region's processes to its outlook. A process that rebuilds counts
// only if it has had a tenth of the memory, because its errors are known only from its own probe.
func (at *region) doubt(o *snapshot.Outlook) {
	for i := range at.rows {
		switch p := &at.rows[i]; {
		case !at.holds(p):
		case p.Doubt == snapshot.Rebuilding && p.Peak.Or(0) >= at.Capacity().Or(0)/10:
			o.Doubt = snapshot.Rebuilding
			return
		case p.Doubt == snapshot.Loading, p.Doubt == snapshot.Unsteady && o.Doubt == snapshot.Believed:
			o.Doubt = p.Doubt
		}
	}
}
