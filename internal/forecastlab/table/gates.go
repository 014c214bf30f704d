package main

import (
	"fmt"
	"slices"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
)

// The regimes that a gate is for.
var (
	followed   = []string{"leak", "bursts", "leak after a plateau", "staircase", "sawtooth", "leak under a sawtooth"}
	stationary = []string{"noise", "mean reversion"}
	recorded   = []string{"served", "notebook", "shared GPU", "trained"}
)

// minRecall is the share of fills that must be alarmed, where it is not .95.
var minRecall = map[string]backtest.Figure{"stairs of 10 min": 0.80, "leak of an epoch": 0.75, "growing peaks": 0.75}

// Indices of horizons.
const minute, fiveMinutes = 2, 4

// monitorGates are those of the alarms that people see.
func (m *measured) monitorGates() []gate {
	precision := gate{what: "monitor: precision of the alarm", aim: "≥ .95"}
	recall := gate{what: "monitor: recall of the alarm", aim: "≥ .95 (stairs of 10 min .80, epochs and peaks .75)"}
	none := gate{what: "monitor: alarms where nothing fills the GPU", aim: "none"}
	young := gate{what: "monitor: alarms from less than a minute's past", aim: "none"}
	sum := 0
	for i := range m.rows {
		r := &m.rows[i]
		name, a := r.Name, &r.monitor.Alarms
		sum += r.young
		if !r.Fills {
			none.atMost(name, a.Raised, 0, whole)
			continue
		}
		if a.Raised > 0 {
			precision.atLeast(name, a.Precision, 0.95, share)
		}
		limit, ok := minRecall[name]
		if !ok {
			limit = 0.95
		}
		recall.atLeast(name, a.Recall, limit, share)
	}
	young.atMost("all", backtest.Figure(sum), 0, whole)
	return []gate{precision, recall, none, young}
}

// alarmLine sums up the monitor's alarms.
func (m *measured) alarmLine() string {
	var fills, raised, wrong, days backtest.Figure
	for i := range m.rows {
		s := &m.rows[i].monitor
		fills, raised, wrong = fills+s.Alarms.Fills, raised+s.Alarms.Raised, wrong+s.Alarms.Wrong
		days += backtest.Figure(s.Seconds / 86_400)
	}
	return fmt.Sprintf("The monitor's alarms in all regimes: %.0f raised, %.0f wrong, %.1f a day; %.0f fills.\n\n", raised, wrong, wrong/days, fills)
}

// gates are those of the forecaster alone.
func (m *measured) gates() []gate {
	return slices.Concat(m.timesToFull(), m.leaks(), m.errors(), m.intervals())
}

func (m *measured) timesToFull() []gate {
	plain := gate{what: "error of the time to full, 1–5 min", aim: "≤ 5 %"}
	sawtooth := gate{what: "error of the time to full under a sawtooth", aim: "≤ 25 %"}
	held := gate{what: "the time to full lies within its interval", aim: "80 ± 7 %"}
	for _, name := range []string{"leak", "leak after a plateau", "warm-up, then leak"} {
		plain.atMost(name, m.own(name).TimeToFull[0].Error, 0.05, percentage)
	}
	for _, name := range []string{"leak under a sawtooth", "sawtooth, then leak", "leak under a long sawtooth"} {
		sawtooth.atMost(name, m.own(name).TimeToFull[0].Error, 0.25, percentage)
	}
	for i := range m.rows {
		if r := &m.rows[i]; r.Fills {
			var all pooled
			for _, band := range r.summaries[0].TimeToFull {
				all.add(band.Coverage, band.Answered)
			}
			held.near(r.Name, all.share(), 0.80, 0.07)
		}
	}
	return []gate{plain, sawtooth, held}
}

func (m *measured) leaks() []gate {
	called := gate{what: "leaks that are called one", aim: "≥ 95 %"}
	wrongly := gate{what: "series wrongly called a leak", aim: "≤ 1/6"}
	shareOf := func(name string) backtest.Figure {
		own := m.own(name)
		return backtest.Figure(own.Leak.Series) / backtest.Figure(own.Series)
	}
	for _, name := range []string{"leak", "staircase", "leak after a plateau"} {
		called.atLeast(name, shareOf(name), 0.95, percentage)
	}
	for i := range m.rows {
		if r := &m.rows[i]; !r.Fills && r.Name != "leak that ends" {
			wrongly.atMost(r.Name, shareOf(r.Name), 1.0/6, percentage)
		}
	}
	return []gate{called, wrongly}
}

func (m *measured) errors() []gate {
	all := gate{what: "relative error at 60 s, geometric mean of regimes", aim: "≤ .38"}
	follows := gate{what: "relative error at 60 s, followed", aim: "≤ .30"}
	noise := gate{what: "relative error at 60 s, noise", aim: "≤ .85"}
	stepped := gate{what: "relative error at every horizon, step-like", aim: "≤ 1.02"}
	beaten := gate{what: "error over the best simple method's", aim: "≤ 1.05 at every horizon"}
	all.atMost("all", m.overall(minute), 0.38, share)
	for _, name := range followed {
		follows.atMost(name, m.own(name).Horizons[minute].Relative, 0.30, share)
	}
	for _, name := range stationary {
		noise.atMost(name, m.own(name).Horizons[minute].Relative, 0.85, share)
	}
	for _, name := range slices.Concat([]string{"steps", "noise over steps"}, recorded) {
		stepped.atMostAnywhere(name, 1.02, share, func(k int) backtest.Figure { return m.own(name).Horizons[k].Relative })
	}
	for i := range m.rows {
		r := &m.rows[i]
		beaten.atMostAnywhere(r.Name, 1.05, share, func(k int) backtest.Figure {
			_, best := r.rival(k)
			return r.summaries[0].Horizons[k].Relative / best
		})
	}
	return []gate{all, follows, noise, stepped, beaten}
}

// atMostAnywhere adds the highest figure of all horizons.
func (g *gate) atMostAnywhere(name string, limit backtest.Figure, write format, figure func(k int) backtest.Figure) {
	at, worst := 0, unknown
	for k := range forecast.Horizons {
		if v := figure(k); v.Known() && !(v <= worst) {
			at, worst = k, v
		}
	}
	g.atMost(name+" at "+horizonName(at), worst, limit, write)
}

// intervals are the gates of memory's intervals, over all regimes together.
func (m *measured) intervals() []gate {
	in80 := gate{what: "memory within its 80 % interval, pooled", aim: "80 ± 4 %"}
	in95 := gate{what: "memory within its 95 % interval, pooled", aim: "95 ± 3 %"}
	for k := range forecast.Horizons {
		var all80, all95 pooled
		for i := range m.rows {
			h := &m.rows[i].summaries[0].Horizons[k]
			all80.add(h.In80.Coverage, h.Forecasts)
			all95.add(h.In95.Coverage, h.Forecasts)
		}
		in80.near(horizonName(k), all80.share(), 0.80, 0.04)
		in95.near(horizonName(k), all95.share(), 0.95, 0.03)
	}
	return []gate{in80, in95}
}

// pooled is a share over several counts.
type pooled struct {
	held float64
	all  int
}

func (p *pooled) add(share backtest.Figure, n int) {
	if n > 0 {
		p.held, p.all = p.held+float64(share)*float64(n), p.all+n
	}
}

func (p *pooled) share() backtest.Figure { // NaN where nothing was counted
	return backtest.Figure(p.held / float64(p.all))
}
