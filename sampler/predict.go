package sampler

import (
	"maps"
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// outlook is a forecaster and its last forecast.
type outlook struct {
	forecaster *forecast.Forecaster // nil before the first sample
	given      int                  // samples
	figure     quantity.Bytes       // the last sample
	at         time.Time            // when it was given
	still      time.Time            // the last sample since that was equal and not given; zero: none

	predicted []snapshot.Prediction
	trend     forecast.Trend
	growth    snapshot.Bytes // a second
}

// pace is the least time between two samples that a forecaster gets: while the
// figure moves, and while it is still. The nearest horizon is ten seconds away,
// and a thousand forecasters at ten samples a second would cost more than the
// rest of the tick.
type pace struct{ moving, still time.Duration }

// quickPace is that of a usual box, and of the first samples of any series.
var quickPace = pace{900 * time.Millisecond, 2700 * time.Millisecond}

// paceOf is the pace of each of so many series.
func paceOf(series int) pace {
	const many = 256
	if series <= many {
		return quickPace
	}
	return pace{1900 * time.Millisecond, 5700 * time.Millisecond}
}

// observe gives the forecaster a tick's figure, or a gap where there is none.
// After a pause of vramscope or of the machine the forecaster drops the forecasts
// that came due in it.
func (o *outlook) observe(now time.Time, figure snapshot.Bytes, p pace) {
	v, ok := figure.Value()
	switch {
	case o.forecaster == nil && !ok:
		return
	case o.forecaster == nil:
		o.forecaster = forecast.New()
	case !ok:
		o.forecaster.Gap(now)
		o.still = time.Time{}
		return
	}
	if o.given <= forecast.MinSamples {
		p = pace{quickPace.moving, quickPace.moving}
	}
	since := now.Sub(o.at)
	moved := v != o.figure
	switch {
	case since >= 0 && since < p.moving:
		return // the last forecast stands
	case since >= 0 && since < p.still && !moved:
		o.still = now
		return
	case moved && !o.still.IsZero():
		o.forecaster.Observe(o.still, int64(o.figure)) // it was still until then
	}
	o.forecaster.Observe(now, int64(v))
	o.given++
	o.figure, o.at, o.still = v, now, time.Time{}
	o.predicted = predictions(o.forecaster)
	o.trend, o.growth = o.forecaster.Trend(), snapshot.Bytes{}
	if growth, ok := o.forecaster.GrowthPerSecond(); ok {
		o.growth = quantity.From(quantity.Bytes(growth), quantity.Forecast)
	}
}

// fullIn is when that memory will be full.
func (o *outlook) fullIn(m *snapshot.Memory) *snapshot.FullIn { return whenFull(m, o.forecaster) }

// whenFull is when several series together will fill a memory.
func whenFull(m *snapshot.Memory, series ...*forecast.Forecaster) *snapshot.FullIn {
	used, known := m.Used.Value()
	capacity, limited := m.Capacity().Value()
	if !known || !limited {
		return nil
	}
	full, ok := forecast.WhenFull(int64(capacity-used), series...)
	if !ok {
		return nil
	}
	return &snapshot.FullIn{Median: full.Median, Earliest: full.Earliest, Latest: full.Latest}
}

// predict puts the forecasts into the row where the figure is known. Forecasters
// start at the row's second tick: a command that samples once does not need
// them, and a thousand take long to make.
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
	case r.outlook.forecaster == nil:
		p.Trend = snapshot.TrendYoung
	default:
		p.Predicted = r.outlook.predicted
		p.Trend, p.GrowthPerSecond = r.trend(allocated.Known())
	}
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

// predictGPU puts the forecasts of the GPU and of its MIG instances into the
// snapshot's GPU.
func (s *Sampler) predictGPU(now time.Time, g *gpu, out *snapshot.GPU, rows []snapshot.Process) {
	g.outlook.observe(now, out.Memory.Used, quickPace)
	if out.Memory.Used.Known() {
		if g.outlook.at.Equal(now) {
			g.predicted, g.full = s.predict(now, g, out, rows)
		}
		out.Predicted = g.predicted
		if !out.MIG { // a process can use only its instance
			out.FullIn = g.full
		}
	}
	g.predictInstances(now, out)
}

// instanceOutlook is a MIG instance's outlook. An instance that was created again
// with the same numbers has another UUID.
type instanceOutlook struct {
	outlook
	full *snapshot.FullIn
	uuid string
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
				o.full = o.fullIn(&in.Memory)
			}
			in.Predicted, in.FullIn = o.predicted, o.full
		}
	}
}

func predictions(f *forecast.Forecaster) []snapshot.Prediction {
	var room [len(forecast.Horizons)]forecast.Interval
	at := f.Forecasts(room[:0])
	if len(at) == 0 {
		return nil
	}
	out := make([]snapshot.Prediction, len(at))
	for i, p := range at {
		out[i] = snapshot.Prediction{
			Horizon: p.Horizon, Median: quantity.Bytes(p.Median),
			Lower80: quantity.Bytes(p.Lower80), Upper80: quantity.Bytes(p.Upper80),
			Lower95: quantity.Bytes(p.Lower95), Upper95: quantity.Bytes(p.Upper95),
		}
	}
	return out
}

var trends = [...]snapshot.Trend{
	forecast.Young:     snapshot.TrendYoung,
	forecast.Steady:    snapshot.TrendSteady,
	forecast.Growing:   snapshot.TrendGrowing,
	forecast.Shrinking: snapshot.TrendShrinking,
	forecast.Sawtooth:  snapshot.TrendSawtooth,
	forecast.Leak:      snapshot.TrendLeak,
}
