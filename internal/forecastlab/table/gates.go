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
	followed   = []string{"leak", "bursts", "leak after a plateau", "staircase", "sawtooth", "leak under a sawtooth"}
	stationary = []string{"noise", "mean reversion"}
	filling    = []string{"leak", "bursts", "staircase", "leak under a sawtooth", "leak after a plateau", "leak with restarts",
		"warm-up, then leak", "alternation over a leak", "sawtooth, then leak", "leak under a medley"}
	harmless = []string{"noise", "mean reversion", "warm-up", "slow saturation", "steps", "alternation", "sawtooth",
		"noise over steps", "leak that ends", "medley"}
)

func (m *measured) gateList() []gate {
	var list []gate
	type format = func(backtest.Figure) string
	most := func(name, what string, v, limit backtest.Figure, write format) {
		list = append(list, gate{name, what, write(v), "≤ " + write(limit), v <= limit})
	}
	least := func(name, what string, v, limit backtest.Figure, write format) {
		list = append(list, gate{name, what, write(v), "≥ " + write(limit), v >= limit})
	}
	for _, name := range followed {
		most(name, "relative error at 60 s", m.of(name).Horizons[2].Relative, 0.30, share)
	}
	for _, name := range stationary {
		most(name, "relative error at 60 s", m.of(name).Horizons[2].Relative, 0.85, share)
	}
	for _, name := range filling {
		a := &m.of(name).Alarms
		least(name, "precision of the alarm", a.Precision, 0.95, share)
		least(name, "recall of the alarm", a.Recall, 0.95, share)
		least(name, "median lead, s", a.Lead, 250, whole)
	}
	for _, name := range harmless {
		raised := m.of(name).Alarms.Raised
		list = append(list, gate{name, "alarms", whole(raised), "none", raised == 0})
	}
	for _, name := range []string{"leak", "leak after a plateau", "warm-up, then leak"} {
		most(name, "time to full, error", m.of(name).TimeToFull[0].Error, 0.05, percentage)
	}
	for _, name := range []string{"leak under a sawtooth", "sawtooth, then leak"} {
		most(name, "time to full, error", m.of(name).TimeToFull[0].Error, 0.25, percentage)
	}
	for _, name := range stationary {
		for _, h := range m.of(name).Horizons {
			in80, in95 := h.In80.Coverage, h.In95.Coverage
			met := math.Abs(float64(in80)-0.80) <= 0.03 && math.Abs(float64(in95)-0.95) <= 0.02
			list = append(list, gate{name, "coverage at " + horizonName(h.Seconds), percentage(in80) + ", " + percentage(in95), "80 ± 3 %, 95 ± 2 %", met})
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
