package main

import (
	"fmt"
	"math"
	"strings"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
)

// written formats a figure; an unknown one is a dash.
func written(format string, f backtest.Figure) string {
	if !f.Known() {
		return "–"
	}
	return fmt.Sprintf(format, f)
}

var unknown = backtest.Figure(math.NaN())

func figureOf(n int) backtest.Figure { return backtest.Figure(n) }

func share(f backtest.Figure) string      { return written("%.2f", f) }
func percentage(f backtest.Figure) string { return written("%.1f %%", 100*f) }
func whole(f backtest.Figure) string      { return written("%.0f", f) }

func horizonName(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.0f s", seconds)
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}

func horizonNames() []string {
	return each(len(forecast.Horizons), func(k int) string { return horizonName(forecast.Horizons[k].Seconds()) })
}

// each is n values, the cells of a row for instance.
func each[T any](n int, cell func(i int) T) []T {
	cells := make([]T, n)
	for i := range cells {
		cells[i] = cell(i)
	}
	return cells
}

// grid is a table: words left, figures right. A row without cells is left out.
func grid(corner string, titles, rows []string, cells func(i int) []string) string {
	var b strings.Builder
	b.WriteString("| " + corner + " | " + strings.Join(titles, " | ") + " |\n|---|" + strings.Repeat("---:|", len(titles)) + "\n")
	for i, name := range rows {
		if row := cells(i); row != nil {
			b.WriteString("| " + name + " | " + strings.Join(row, " | ") + " |\n")
		}
	}
	return b.String()
}
