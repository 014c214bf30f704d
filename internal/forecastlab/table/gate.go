package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"vramscope/forecast/backtest"
)

// gate is one thing asked of the forecaster or of the monitor, in several regimes.
type gate struct {
	what, aim string
	results   []result
}

// result is what was measured for a gate in one regime.
type result struct {
	name, value string
	slack       backtest.Figure // distance from the limit; negative or NaN: missed
}

type format = func(backtest.Figure) string

// atMost adds a figure with an upper limit.
func (g *gate) atMost(name string, v, limit backtest.Figure, write format) {
	g.results = append(g.results, result{name, write(v), limit - v})
}

// atLeast adds a figure with a lower limit.
func (g *gate) atLeast(name string, v, limit backtest.Figure, write format) {
	g.results = append(g.results, result{name, write(v), v - limit})
}

// near adds a share that may differ from its aim by so much.
func (g *gate) near(name string, v, aim, by backtest.Figure) {
	g.results = append(g.results, result{name, percentage(v), by - backtest.Figure(math.Abs(float64(v-aim)))})
}

// gateTable has a row for each gate, with the results that miss it, the worst
// first, or with the one that is nearest to a miss.
func gateTable(gates []gate) string {
	var b strings.Builder
	b.WriteString("| what | aim | held | missed, or nearest to it |\n|---|---|---:|---|\n")
	held, all := 0, 0
	for _, g := range gates {
		if len(g.results) == 0 {
			continue
		}
		slices.SortStableFunc(g.results, func(a, b result) int { return cmp.Compare(a.slack, b.slack) }) // NaN comes first
		var texts []string
		for _, r := range g.results {
			if !(r.slack >= 0) {
				texts = append(texts, r.name+" "+r.value)
			}
		}
		kept := len(g.results) - len(texts)
		held, all = held+kept, all+len(g.results)
		text := g.results[0].name + " " + g.results[0].value
		if len(texts) > 0 {
			text = "**" + strings.Join(texts, "; ") + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %d of %d | %s |\n", g.what, g.aim, kept, len(g.results), text)
	}
	return fmt.Sprintf("%d of %d gates are held.\n\n", held, all) + b.String()
}
