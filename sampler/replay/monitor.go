package replay

import (
	"slices"
	"time"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler"
	"vramscope/sampler/alert"
	"vramscope/sampler/snapshot"
)

// Monitor is a backtest.Method and a backtest.Alarmer. It follows one series.
type Monitor struct {
	series  *backtest.Series
	next    int // index of the series' next sample
	machine Machine
	process Process
	sampler *sampler.Sampler
	snap    *snapshot.Snapshot
}

// New returns a Monitor of a series. If the process starts with the series, the Monitor sees an
// empty GPU before the first sample.
func New(series *backtest.Series) *Monitor {
	m := &Monitor{series: series}
	m.process.Identity = process.Identity{PID: 1, StartTime: 1, Namespace: 1}
	m.sampler = m.machine.Watch(time.Duration(series.Step() * 1e9))
	return m
}

func (m *Monitor) Observe(t time.Time, used int64) {
	sample := &m.series.Samples[m.next]
	if m.next == 0 && m.series.Age > 0 {
		m.process.Started = t.Add(-time.Duration(m.series.Age * 1e9))
		if step := m.series.Step(); m.series.Age <= step {
			m.machine.Set(t.Add(-time.Duration(step*1e9)), 0, sample.Total)
			m.sampler.Tick(m.machine.now)
		}
	}
	m.next++
	m.process.Used = used
	m.machine.Set(t, used, sample.Total, m.process)
	m.snap = m.sampler.Tick(t)
}

func (m *Monitor) gpu() *snapshot.GPU { return &m.snap.GPUs[0] }

func (m *Monitor) Forecasts(dst []forecast.Interval) []forecast.Interval {
	for _, p := range m.gpu().Predicted {
		dst = append(dst, forecast.Interval{
			Horizon: p.Horizon, Median: int64(p.Median),
			Lower80: int64(p.Lower80), Upper80: int64(p.Upper80), Lower95: int64(p.Lower95), Upper95: int64(p.Upper95),
		})
	}
	return dst
}

func (m *Monitor) FullIn(int64) (forecast.FullIn, bool) {
	full := m.gpu().FullIn
	if full == nil {
		return forecast.FullIn{}, false
	}
	return forecast.FullIn{Median: full.Median, Earliest: full.Earliest, Latest: full.Latest}, true
}

// Trend returns the process's trend. Both packages list the trends in the same order.
func (m *Monitor) Trend() forecast.Trend {
	return forecast.Trend(max(m.snap.Rows[0].Trend, snapshot.TrendYoung) - snapshot.TrendYoung)
}

// Alarm reports whether the alert that the GPU will be full stands.
func (m *Monitor) Alarm() bool {
	return slices.ContainsFunc(m.snap.Alerts, func(a snapshot.Alert) bool { return a.Kind == snapshot.AlertFullIn })
}

// Within returns the time to full below which the alert of Alarm is raised.
func (m *Monitor) Within() time.Duration { return alert.FullWithin }

func bytesOf(v int64) quantity.Optional[quantity.Bytes] {
	return quantity.From(quantity.Bytes(v), quantity.Driver)
}
