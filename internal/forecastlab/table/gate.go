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
	of, value string
	slack     backtest.Figure // how far within the aim it lies; below zero it is missed
}

func (r *result) held() bool { return r.slack >= 0 }

func (g *gate) missed() []result {
	return slices.DeleteFunc(slices.Clone(g.results), func(r result) bool { return r.held() })
}

// least is the result that is nearest to a miss.
func (g *gate) least() result {
	return slices.MinFunc(g.results, func(a, b result) int { return cmp.Compare(a.slack, b.slack) }) // NaN is least
}

type format = func(backtest.Figure) string

// most adds a figure with an upper limit.
func (g *gate) most(of string, v, limit backtest.Figure, write format) {
	g.results = append(g.results, result{of, write(v), limit - v})
}

// atLeast adds a figure with a lower limit.
func (g *gate) atLeast(of string, v, limit backtest.Figure, write format) {
	g.results = append(g.results, result{of, write(v), v - limit})
}

// around adds a share that may lie so far from its aim.
func (g *gate) around(of string, v, aim, by backtest.Figure) {
	g.results = append(g.results, result{of, percentage(v), by - backtest.Figure(math.Abs(float64(v-aim)))})
}

// gateLines are all results, a line each.
func gateLines(gates []gate) string {
	var b strings.Builder
	held, all := 0, 0
	for i := range gates {
		g := &gates[i]
		for _, r := range g.results {
			word := "missed"
			if all++; r.held() {
				word = "held"
				held++
			}
			fmt.Fprintf(&b, "%-6s  %-58s %-30s %14s  %s\n", word, g.what, r.of, r.value, g.aim)
		}
	}
	fmt.Fprintf(&b, "%d of %d held\n", held, all)
	return b.String()
}

// shortest names the worst of the results that are missed.
func shortest(missed []result) string {
	const named = 5
	slices.SortStableFunc(missed, func(a, b result) int { return cmp.Compare(a.slack, b.slack) }) // NaN comes first
	text := strings.Join(each(min(len(missed), named), func(i int) string { return missed[i].of + " " + missed[i].value }), "; ")
	if more := len(missed) - named; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// gateTable is a row for each gate.
func gateTable(gates []gate) string {
	var b strings.Builder
	b.WriteString("| what | aim | held | missed, or nearest to it |\n|---|---|---:|---|\n")
	held, all := 0, 0
	for i := range gates {
		g := &gates[i]
		if len(g.results) == 0 {
			continue
		}
		missed := g.missed()
		held, all = held+len(g.results)-len(missed), all+len(g.results)
		last := g.least()
		text := last.of + " " + last.value
		if len(missed) > 0 {
			text = "**" + shortest(missed) + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %d of %d | %s |\n", g.what, g.aim, len(g.results)-len(missed), len(g.results), text)
	}
	return fmt.Sprintf("%d of %d gates are held.\n\n", held, all) + b.String()
}
