package main

import (
	"slices"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
)

// The regimes that a gate is for.
var (
	followed   = []string{"leak", "bursts", "leak after a plateau", "staircase", "sawtooth", "leak under a sawtooth"}
	stationary = []string{"noise", "mean reversion"}
	filling    = []string{"leak", "bursts", "staircase", "leak under a sawtooth", "leak after a plateau", "leak with restarts",
		"warm-up, then leak", "alternation over a leak", "sawtooth, then leak", "leak under a medley"}
	ramps      = []string{"ramp of 120 s", "ramp of 170 s", "ramp of 220 s"}
	growth     = []string{"stairs of 1 to 10 min", "stairs of 10 min", "leak of an epoch", "growing peaks", "leak under a long sawtooth"}
	falseLeaks = []string{"long first epoch", "bounded walk", "sine of a day"}
	recorded   = []string{"served", "notebook", "shared GPU", "trained"}
	harmless   = slices.Concat([]string{"noise", "mean reversion", "warm-up", "slow saturation", "steps", "alternation", "sawtooth",
		"noise over steps", "leak that ends", "medley"}, falseLeaks, recorded)
)

// recalls are the shares of fills that are alarmed at least, where they are not .95.
var recalls = map[string]backtest.Figure{"stairs of 10 min": 0.80, "leak of an epoch": 0.75, "growing peaks": 0.75}

func recallOf(name string) backtest.Figure {
	if v, ok := recalls[name]; ok {
		return v
	}
	return 0.95
}

// gates are those of the forecaster alone.
func (m *measured) gates() []gate {
	return slices.Concat(m.leads(), m.bareAlarms(), m.timesToFull(), m.leaks(), m.errors(), m.intervals())
}

// leads of the alarm at fast ramps.
func (m *measured) leads() []gate {
	g := gate{what: "median lead at a ramp of 120, 170, 220 s", aim: "≥ 90, 140, 190 s"}
	for i, least := range []backtest.Figure{90, 140, 190} {
		g.atLeast(ramps[i], m.of(ramps[i]).summaries[0].Alarms.Lead, least, whole)
	}
	return []gate{g}
}

// bareAlarms are those of the forecaster alone: full within 300 s.
func (m *measured) bareAlarms() []gate {
	precision := gate{what: "precision of the alarm", aim: "≥ .95"}
	recall := gate{what: "recall of the alarm", aim: "≥ .95 (stairs of 10 min .80, epochs and peaks .75)"}
	lead := gate{what: "median lead of the alarm", aim: "≥ 250 s"}
	none := gate{what: "alarms where nothing fills the GPU", aim: "none"}
	for _, name := range slices.Concat(filling, ramps, growth) {
		a := &m.of(name).summaries[0].Alarms
		if a.Raised > 0 {
			precision.atLeast(name, a.Precision, 0.95, share)
		}
		recall.atLeast(name, a.Recall, recallOf(name), share)
		if slices.Contains(filling, name) {
			lead.atLeast(name, a.Lead, 250, whole)
		}
	}
	for _, name := range harmless {
		none.most(name, m.of(name).summaries[0].Alarms.Raised, 0, whole)
	}
	return []gate{precision, recall, lead, none}
}

func (m *measured) timesToFull() []gate {
	plain := gate{what: "error of the time to full, 1–5 min", aim: "≤ 5 %"}
	sawtooth := gate{what: "error of the time to full under a sawtooth", aim: "≤ 25 %"}
	held := gate{what: "the time to full lies within its interval", aim: "80 ± 7 %"}
	for _, name := range []string{"leak", "leak after a plateau", "warm-up, then leak"} {
		plain.most(name, m.of(name).summaries[0].TimeToFull[0].Error, 0.05, percentage)
	}
	for _, name := range []string{"leak under a sawtooth", "sawtooth, then leak", "leak under a long sawtooth"} {
		sawtooth.most(name, m.of(name).summaries[0].TimeToFull[0].Error, 0.25, percentage)
	}
	for _, name := range slices.Concat(filling, ramps, growth) {
		held.around(name, coverage(m.of(name).summaries[0].TimeToFull), 0.80, 0.07)
	}
	return []gate{plain, sawtooth, held}
}

// coverage is that of the answers of all bands.
func coverage(bands []backtest.FullSummary) backtest.Figure {
	held, answered := 0.0, 0
	for i := range bands {
		if b := &bands[i]; b.Answered > 0 {
			held += float64(b.Coverage) * float64(b.Answered)
			answered += b.Answered
		}
	}
	if answered == 0 {
		return unknown
	}
	return backtest.Figure(held / float64(answered))
}

func (m *measured) leaks() []gate {
	called := gate{what: "leaks that are called one", aim: "≥ 95 %"}
	wrongly := gate{what: "series wrongly called a leak", aim: "≤ 1/6"}
	shareOf := func(name string) backtest.Figure {
		sum := &m.of(name).summaries[0]
		return backtest.Figure(sum.Leak.Series) / backtest.Figure(sum.Series)
	}
	for _, name := range []string{"leak", "staircase", "leak after a plateau"} {
		called.atLeast(name, shareOf(name), 0.95, percentage)
	}
	for _, name := range harmless {
		if name != "leak that ends" {
			wrongly.most(name, shareOf(name), 1.0/6, percentage)
		}
	}
	return []gate{called, wrongly}
}

// minute is the index of the horizon of a minute.
const minute = 2

func (m *measured) errors() []gate {
	all := gate{what: "relative error at 60 s, geometric mean of regimes", aim: "≤ .38"}
	all.most("all", m.overall(0, minute), 0.38, share)
	follows := gate{what: "relative error at 60 s, followed", aim: "≤ .30"}
	for _, name := range followed {
		follows.most(name, m.of(name).summaries[0].Horizons[minute].Relative, 0.30, share)
	}
	noise := gate{what: "relative error at 60 s, noise", aim: "≤ .85"}
	for _, name := range stationary {
		noise.most(name, m.of(name).summaries[0].Horizons[minute].Relative, 0.85, share)
	}
	stepped := gate{what: "relative error at every horizon, step-like", aim: "≤ 1.02"}
	for _, name := range slices.Concat([]string{"steps", "noise over steps"}, recorded) {
		k, worst := highest(func(k int) backtest.Figure { return m.of(name).summaries[0].Horizons[k].Relative })
		stepped.most(name+" at "+horizonNames()[k], worst, 1.02, share)
	}
	return []gate{all, follows, noise, stepped, m.beaten()}
}

// rivals are the baselines that no regime may be worse than.
var rivals = []string{"SES", "Holt", "Holt–Winters"}

// beaten compares the error with the best rival's at that horizon.
func (m *measured) beaten() gate {
	g := gate{what: "error over the best of SES, Holt, Holt–Winters", aim: "≤ 1.05 at every horizon"}
	for i := range m.rows {
		sums := m.rows[i].summaries
		k, worst := highest(func(k int) backtest.Figure {
			best := unknown
			for j, name := range m.methods {
				if v := sums[j].Horizons[k].Relative; slices.Contains(rivals, name) && (!best.Known() || v < best) {
					best = v
				}
			}
			return sums[0].Horizons[k].Relative / best
		})
		g.most(m.rows[i].regime+" at "+horizonNames()[k], worst, 1.05, share)
	}
	return g
}

// highest is the horizon with the highest figure.
func highest(figure func(k int) backtest.Figure) (int, backtest.Figure) {
	at, worst := 0, unknown
	for k := range forecast.Horizons {
		if v := figure(k); v.Known() && !(v <= worst) {
			at, worst = k, v
		}
	}
	return at, worst
}

func (m *measured) intervals() []gate {
	g80 := gate{what: "memory within its 80 % interval, noise", aim: "80 ± 3 % at every horizon"}
	g95 := gate{what: "memory within its 95 % interval, noise", aim: "95 ± 2 % at every horizon"}
	for _, name := range stationary {
		horizons := m.of(name).summaries[0].Horizons
		g80.farthest(name, 0.80, 0.03, func(k int) backtest.Figure { return horizons[k].In80.Coverage })
		g95.farthest(name, 0.95, 0.02, func(k int) backtest.Figure { return horizons[k].In95.Coverage })
	}
	every := gate{what: "memory within its 80 % interval", aim: "80 ± 5 % at every horizon, or ≥ 75 % where it stays the same"}
	for i := range m.rows {
		r := &m.rows[i]
		every.farthest(r.regime, 0.80, 0.05, func(k int) backtest.Figure {
			v := r.summaries[0].Horizons[k].In80.Coverage
			if v > 0.80 && r.same[k] > 0.70 {
				return 0.80 // an interval of no width holds nearly as much
			}
			return v
		})
	}
	return []gate{g80, g95, every}
}

// farthest adds the share that lies farthest from its aim, of all horizons.
func (g *gate) farthest(of string, aim, by backtest.Figure, figure func(k int) backtest.Figure) {
	k, _ := highest(func(k int) backtest.Figure { return max(figure(k)-aim, aim-figure(k)) })
	g.around(of+" at "+horizonNames()[k], figure(k), aim, by)
}
