package sampler

import (
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// outlook is a forecaster with what it said last.
type outlook struct {
	forecaster *forecast.Forecaster // of used; nil before the first sample
	at         time.Time            // when it was last given a sample

	predicted []snapshot.Prediction
	trend     snapshot.Trend
	growth    snapshot.Bytes // a second
}

// outlookEvery is how often a forecaster is given a sample, and asked, where
// the sampler ticks faster: its nearest horizon is ten seconds away, and a
// thousand forecasters asked ten times a second would cost more than all the
// rest of the tick.
const outlookEvery = 900 * time.Millisecond

// observe gives the forecaster a tick's figure, or the gap where there is
// none.
func (o *outlook) observe(now time.Time, used snapshot.Bytes) {
	v, ok := used.Value()
	switch {
	case o.forecaster == nil && !ok:
		return
	case o.forecaster == nil:
		o.forecaster = forecast.New()
	case !ok:
		o.forecaster.Gap(now)
		return
	}
	if since := now.Sub(o.at); since >= 0 && since < outlookEvery {
		return // between two samples what it said last stands
	}
	o.at = now
	o.forecaster.Observe(now, int64(v))
	o.predicted = predictions(o.forecaster)
	o.trend, o.growth = trends[o.forecaster.Trend()], snapshot.Bytes{}
	if growth, ok := o.forecaster.GrowthPerSecond(); ok {
		o.growth = quantity.From(quantity.Bytes(growth), quantity.Forecast)
	}
}

// predict puts what the row's forecaster expects into the row, unless the
// figure is not there: then nothing can be said of it. Forecasters begin with
// the row's second tick: a thousand take their time, and who looks once has no
// use for them.
func (r *row) predict(now time.Time, p *snapshot.Process) {
	if r.latest != nil {
		r.outlook.observe(now, p.Used)
	}
	switch {
	case !p.Used.Known():
	case r.outlook.forecaster == nil:
		p.Trend = snapshot.TrendYoung
	default:
		p.Predicted, p.Trend, p.GrowthPerSecond = r.outlook.predicted, r.outlook.trend, r.outlook.growth
	}
}

// predict puts what the GPU's forecaster expects into the snapshot's GPU.
func (g *gpu) predict(now time.Time, out *snapshot.GPU) {
	g.outlook.observe(now, out.Memory.Used)
	used, ok := out.Memory.Used.Value()
	if !ok {
		return
	}
	out.Predicted = g.outlook.predicted
	capacity, ok := out.Memory.Capacity().Value()
	if !ok || out.MIG {
		return // a process can have only what is free in its MIG instance
	}
	if full, ok := g.outlook.forecaster.FullIn(int64(capacity - used)); ok {
		out.FullIn = &snapshot.FullIn{Median: full.Median, Earliest: full.Earliest, Latest: full.Latest}
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
