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
	of := func(make func() path) func() *Method { return func() *Method { return &Method{path: make()} } }
	return []Baseline{
		{"naive", of(func() path { return naive{} })},
		{"drift", of(func() path { return &drift{} })},
		{"SES", of(func() path { return newSES() })},
		{"Holt", of(func() path { return newTrend(1) })},
		{"damped Holt", of(func() path { return newTrend(0.8, 0.9, 0.98) })},
		{"Holt–Winters", of(func() path { return newHoltWinters() })},
		{"last five", of(func() path { return &lastFive{} })},
		{"weighted experts", of(func() path { return &weighted{} })},
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

// FullIn is where the path first reaches the free bytes.
func (m *Method) FullIn(free int64) (forecast.FullIn, bool) {
	if m.count < forecast.MinSamples {
		return forecast.FullIn{}, false
	}
	d, ok := Reaches(free, func(i int) float64 { return m.path.change(forecast.Horizons[i].Seconds(), m.step) })
	return forecast.FullIn{Median: d, Earliest: d, Latest: d}, ok
}

// Reaches is when a path, straight between its values at the horizons, reaches free.
func Reaches(free int64, change func(horizon int) float64) (time.Duration, bool) {
	start, below := 0.0, 0.0
	for i, h := range forecast.Horizons {
		end, above := h.Seconds(), change(i)
		if above > 0 && above >= float64(free) {
			seconds := start + (float64(free)-below)/(above-below)*(end-start)
			return time.Duration(max(seconds, 0) * 1e9), true
		}
		start, below = end, above
	}
	return 0, false
}

// Trend is none: the baselines report no leaks.
func (m *Method) Trend() forecast.Trend { return forecast.Steady }

// naive: no change.
type naive struct{}

func (naive) observe(_, _ float64)        {}
func (naive) change(_, _ float64) float64 { return 0 }

// drift: it continues as it has from the first sample to the last.
type drift struct{ first, last, seconds float64 }

func (d *drift) observe(seconds, y float64) {
	if seconds == 0 {
		d.first = y
	}
	d.last = y
	d.seconds += seconds
}

func (d *drift) change(seconds, _ float64) float64 {
	if d.seconds == 0 {
		return 0
	}
	return (d.last - d.first) / d.seconds * seconds
}

// lastFive: it continues as in the last five samples, as other tools assume.
type lastFive struct {
	y, at [5]float64 // rings
	n     int
}

func (l *lastFive) observe(seconds, y float64) {
	now := seconds
	if l.n > 0 {
		now += l.at[(l.n-1)%5]
	}
	l.y[l.n%5], l.at[l.n%5] = y, now
	l.n++
}

func (l *lastFive) change(seconds, _ float64) float64 {
	if l.n < 5 {
		return 0
	}
	newest, oldest := (l.n-1)%5, l.n%5
	return (l.y[newest] - l.y[oldest]) / (l.at[newest] - l.at[oldest]) * seconds
}
