package baseline

import (
	"math"
	"time"

	"vramscope/forecast"
)

// Baseline is one method by its name.
type Baseline struct {
	Name string
	New  func() *Method
}

// All is every baseline.
func All() []Baseline {
	method := func(start func() path) func() *Method { return func() *Method { return &Method{path: start()} } }
	return []Baseline{
		{"SES", method(func() path { return newSES() })},
		{"Holt", method(func() path { return newTrend(1) })},
		{"damped Holt", method(func() path { return newTrend(0.8, 0.9, 0.98) })},
		{"weighted experts", method(func() path { return &weighted{} })},
	}
}

// path is what a method expects.
type path interface {
	observe(seconds, y float64)           // seconds since the last sample; 0: the first
	change(seconds, step float64) float64 // from the newest sample on
}

// Method makes forecasts of a series.
type Method struct {
	path  path
	at    time.Time
	last  float64
	step  float64
	count int
}

// Observe takes the next sample.
func (m *Method) Observe(t time.Time, used int64) {
	seconds := 0.0
	if m.count > 0 {
		if seconds = t.Sub(m.at).Seconds(); seconds <= 0 {
			return
		}
		m.step += (seconds - m.step) / float64(m.count)
	}
	m.count++
	m.at, m.last = t, float64(used)
	m.path.observe(seconds, m.last)
}

// Forecasts appends the medians at all horizons. All bounds are the median.
func (m *Method) Forecasts(dst []forecast.Interval) []forecast.Interval {
	if m.count < forecast.MinSamples {
		return dst
	}
	for _, h := range forecast.Horizons {
		v := int64(min(max(m.last+m.path.change(h.Seconds(), m.step), 0), math.MaxInt64/2))
		dst = append(dst, forecast.Interval{Horizon: h, Median: v, Lower80: v, Upper80: v, Lower95: v, Upper95: v})
	}
	return dst
}

// FullIn is unknown: only the forecasts of baselines are compared.
func (m *Method) FullIn(int64) (forecast.FullIn, bool) { return forecast.FullIn{}, false }

// Trend is Steady: the baselines report no leaks.
func (m *Method) Trend() forecast.Trend { return forecast.Steady }
