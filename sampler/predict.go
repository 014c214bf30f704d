package sampler

import (
	"maps"
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// predict puts the forecasts into the row where the figure is known. They
// start at the row's second tick: a command that samples once needs none.
func (r *row) predict(now time.Time, p *snapshot.Process, every pace) {
	allocated := freshlyAllocated(p)
	if r.latest != nil {
		if used, ok := p.Used.Value(); ok {
			r.watchLoad(now, p.Started, used)
		}
		r.outlook.observe(now, p.Used, every)
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
}

// doubt is why the row's forecast is withheld.
func (r *row) doubt() snapshot.Doubt {
	if r.load.loads() {
		return snapshot.Loading
	}
	return r.outlook.doubt()
}

// freshlyAllocated is what the process's probe reports as allocated, unknown
// where the report is old.
func freshlyAllocated(p *snapshot.Process) snapshot.Bytes {
	if p.Probe == nil || p.Probe.State != snapshot.ProbeLive {
		return snapshot.Bytes{}
	}
	return p.Allocated
}

// trend is the trend of the row's memory, and how fast it grows. Where a probe
// reports allocated memory, that decides what a leak is: a cache that grows can
// be flushed, and a leak into a cache does not show in used memory.
func (r *row) trend(probed bool) (snapshot.Trend, snapshot.Bytes) {
	used, inside := &r.outlook, &r.allocated
	switch {
	case !probed || inside.trend == forecast.Young || (used.trend == forecast.Leak) == (inside.trend == forecast.Leak):
		return trends[used.trend], used.growth
	case inside.trend == forecast.Leak:
		return snapshot.TrendLeak, inside.growth
	default:
		return snapshot.TrendGrowing, used.growth
	}
}

// agree makes a snapshot's forecasts agree with its alerts, with its memory and with each
// other: an alert stands for some snapshots after the forecast that raised it.
func (s *Sampler) agree(snap *snapshot.Snapshot) {
	for i := range snap.Alerts {
		a := &snap.Alerts[i]
		full, g := s.alerts.FullIn(a), snap.GPU(a.GPUUUID)
		if full == nil || g == nil {
			continue
		}
		if in := g.Instance(a.Instance); in != nil {
			in.FullIn = full
		} else {
			g.FullIn = full
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
			m := g.Memory
			if in := g.Instance(p.ID.Instance); in != nil {
				m = in.Memory
			}
			m.Used = p.Used
			p.Agree(&m)
		}
	}
}

// predictGPU puts the forecasts of the GPU and of its MIG instances into the
// snapshot's GPU.
func (s *Sampler) predictGPU(now time.Time, g *gpu, out *snapshot.GPU, rows []snapshot.Process) {
	g.outlook.observe(now, out.Memory.Used, quickPace)
	if out.Memory.Used.Known() {
		if g.outlook.at.Equal(now) {
			g.expected = s.predict(now, g, out, rows)
		}
		out.Outlook, out.Doubt = g.expected, g.outlook.doubt()
		for i := range rows {
			if out.FullIn == nil && rows[i].ID.GPUUUID == out.UUID && rows[i].Doubt == snapshot.Loading {
				out.Doubt = snapshot.Loading
			}
		}
		out.FullIn = out.FullIn.After(now.Sub(g.outlook.at))
		if out.MIG { // a process can use only its instance
			out.FullIn = nil
		}
	}
	g.predictInstances(now, out)
}

// instanceOutlook is a MIG instance's outlook. An instance that was created again
// with the same numbers has another UUID.
type instanceOutlook struct {
	outlook
	expected snapshot.Outlook
	uuid     string
}

func (g *gpu) predictInstances(now time.Time, out *snapshot.GPU) {
	if g.fresh != nil { // else the instances are unknown
		maps.DeleteFunc(g.instances, func(id snapshot.InstanceID, _ *instanceOutlook) bool { return out.Instance(id) == nil })
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
			o = &instanceOutlook{uuid: in.UUID}
			g.instances[in.ID] = o
		}
		o.observe(now, in.Memory.Used, quickPace)
		if in.Memory.Used.Known() {
			if o.at.Equal(now) {
				o.expected = snapshot.Outlook{Predicted: o.predicted, FullIn: o.fullIn(&in.Memory)}
			}
			in.Outlook, in.Doubt = o.expected, o.doubt()
			in.FullIn = in.FullIn.After(now.Sub(o.at))
		}
	}
}

var trends = [...]snapshot.Trend{
	forecast.Young:     snapshot.TrendYoung,
	forecast.Steady:    snapshot.TrendSteady,
	forecast.Growing:   snapshot.TrendGrowing,
	forecast.Shrinking: snapshot.TrendShrinking,
	forecast.Sawtooth:  snapshot.TrendSawtooth,
	forecast.Leak:      snapshot.TrendLeak,
}

// load is how a process begins: it reads what it needs (weights, optimizer state,
// workspaces) up to its first plateau; no later growth is a load. How far a load goes is
// unknown: until it ends the forecast is no change, and there is no alarm. Then the
// forecaster starts over, because long horizons would remember errors of tens of
// gigabytes for longer than many jobs run.
//
// A plateau is a minute and a half in which memory grows more slowly than by loadRate.
type load struct {
	begin time.Time      // of the window; zero before the first sample
	from  quantity.Bytes // used then
	quiet int            // windows in a row
	over  bool
	ended time.Time
}

const (
	loadWindow  = 10 * time.Second
	loadRate    = 64 << 20 // bytes per second
	loadsWithin = 15 * time.Minute
	plateau     = 9 // windows: shards of weights come closer together
)

// fresh reports whether the process loads, or has loaded so lately that its GPU's own
// forecaster still takes the load for growth.
func (l *load) fresh(now time.Time) bool {
	return !l.over || !l.ended.IsZero() && now.Sub(l.ended) < stepRemembered
}

// watch takes a sample in and reports whether memory has grown as in a load since
// the last window.
func (l *load) watch(now time.Time, used quantity.Bytes) (grew bool) {
	passed := now.Sub(l.begin)
	switch {
	case l.begin.IsZero() || passed < 0:
		l.begin, l.from = now, used
		return false
	case passed < loadWindow:
		return false
	}
	grew = float64(used-l.from) >= loadRate*passed.Seconds()
	l.begin, l.from = now, used
	if grew {
		l.quiet = 0
		return true
	}
	if l.quiet++; l.quiet == plateau {
		l.over, l.ended = true, now
	}
	return false
}

// loads reports whether the process loads now.
func (l *load) loads() bool { return !l.over && !l.begin.IsZero() && l.quiet == 0 }

// watchLoad starts the row's forecasters over for as long as its process loads.
func (r *row) watchLoad(now, started time.Time, used quantity.Bytes) {
	young := func(since time.Time) bool { return !since.IsZero() && now.Sub(since) < loadsWithin }
	switch {
	case r.load.over:
	case !young(r.came) && !young(started):
		r.load.over = true
	case r.load.watch(now, used):
		r.outlook, r.allocated = outlook{}, outlook{}
	}
}
