package main

import (
	"fmt"
	"math"
	"strings"

	"vramscope/forecast/backtest"
)

// gate is one thing asked of the forecaster.
type gate struct {
	regime, what string
	measured     string
	asked        string
	met          bool
}

// The regimes that a gate is for.
var (
	seasonal   = []string{"sawtooth"}
	leaking    = []string{"leak", "bursts", "leak after a plateau"}
	climbing   = []string{"staircase"}
	stationary = []string{"noise", "mean reversion"}
	filling    = []string{"leak", "bursts", "staircase", "leak under a sawtooth", "leak after a plateau", "leak with restarts",
		"warm-up, then leak", "alternation over a leak", "sawtooth, then leak", "leak under a medley"}
	harmless = []string{"noise", "mean reversion", "warm-up", "slow saturation", "steps", "alternation", "sawtooth",
		"noise over steps", "leak that ends", "medley"}
)

func (m *measured) gateList() []gate {
	var list []gate
	most := func(name, what string, v backtest.Figure, limit float64, percent bool) {
		g := gate{regime: name, what: what, measured: share(v), asked: "≤ " + share(backtest.Figure(limit)), met: float64(v) <= limit}
		if percent {
			g.measured, g.asked = percentage(v), "≤ "+percentage(backtest.Figure(limit))
		}
		list = append(list, g)
	}
	least := func(name, what string, v backtest.Figure, limit float64, format string) {
		list = append(list, gate{name, what, fmt.Sprintf(format, v), fmt.Sprintf("≥ "+format, limit), float64(v) >= limit})
	}
	for _, name := range append(append(append([]string{}, leaking...), climbing...), append(seasonal, "leak under a sawtooth")...) {
		most(name, "relative error at 60 s", m.of(name).Horizons[2].Relative, 0.30, false)
	}
	for _, name := range stationary {
		most(name, "relative error at 60 s", m.of(name).Horizons[2].Relative, 0.85, false)
	}
	for _, name := range filling {
		a := &m.of(name).Alarms
		least(name, "precision of the alarm", a.Precision, 0.95, "%.2f")
		least(name, "recall of the alarm", a.Recall, 0.95, "%.2f")
		least(name, "median lead, s", a.Lead, 250, "%.0f")
	}
	for _, name := range harmless {
		a := &m.of(name).Alarms
		list = append(list, gate{name, "alarms", fmt.Sprintf("%.0f", a.Raised), "none", a.Raised == 0})
	}
	for _, name := range []string{"leak", "leak after a plateau", "warm-up, then leak"} {
		most(name, "time to full, error", m.of(name).TimeToFull[0].Error, 0.05, true)
	}
	for _, name := range []string{"leak under a sawtooth", "sawtooth, then leak"} {
		most(name, "time to full, error", m.of(name).TimeToFull[0].Error, 0.25, true)
	}
	for _, name := range stationary {
		for _, h := range m.of(name).Horizons {
			low := float64(h.In80.Coverage)
			high := float64(h.In95.Coverage)
			list = append(list, gate{name, "coverage at " + horizonName(h.Seconds),
				percentage(h.In80.Coverage) + ", " + percentage(h.In95.Coverage), "80 ± 3 %, 95 ± 2 %",
				math.Abs(low-0.80) <= 0.03 && math.Abs(high-0.95) <= 0.02})
		}
	}
	return list
}

// gates is the table of them.
func (m *measured) gates() string {
	var b strings.Builder
	list := m.gateList()
	missed := 0
	for _, g := range list {
		if !g.met {
			missed++
		}
	}
	fmt.Fprintf(&b, "%d of %d gates are met, %d are missed (seeds %d to %d).\n\n", len(list)-missed, len(list), missed, m.first, m.first+m.seeds-1)
	b.WriteString("| what | regime | measured | asked | |\n|---|---|---:|---:|---|\n")
	for _, g := range list {
		word := "met"
		if !g.met {
			word = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", g.what, g.regime, g.measured, g.asked, word)
	}
	return b.String()
}
