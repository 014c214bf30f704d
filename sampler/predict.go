package sampler

import (
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// observe feeds a forecaster with a tick's figure, or with the gap where there
// is none.
func observe(f *forecast.Forecaster, now time.Time, used snapshot.Bytes) {
	if v, ok := used.Value(); ok {
		f.Observe(now, int64(v))
		return
	}
	f.Gap(now)
}

// predict puts what the row's forecaster expects into the row.
func (r *row) predict(now time.Time, p *snapshot.Process) {
	observe(&r.forecast, now, p.Used)
	if !p.Used.Known() {
		return // no forecast from a figure that is not there
	}
	p.Predicted = predictions(&r.forecast)
	p.Trend = trends[r.forecast.Trend()]
	if growth, ok := r.forecast.GrowthPerSecond(); ok {
		p.GrowthPerSecond = quantity.From(quantity.Bytes(growth), quantity.Forecast)
	}
}

// predict puts what the GPU's forecaster expects into the snapshot's GPU.
func (g *gpu) predict(now time.Time, out *snapshot.GPU) {
	observe(&g.forecast, now, out.Memory.Used)
	used, ok := out.Memory.Used.Value()
	if !ok {
		return
	}
	out.Predicted = predictions(&g.forecast)
	capacity, ok := out.Memory.Capacity().Value()
	if !ok || out.MIG {
		return // a process can have only what is free in its MIG instance
	}
	if full, ok := g.forecast.FullIn(int64(capacity - used)); ok {
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
