package main

import (
	"fmt"
	"strings"
	"time"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

// The times since a change, in seconds, by which its forecasts are put
// together, and the horizons that are looked at.
var (
	sinceChange = [...]int{0, 15, 30, 60, 300, 900}
	changedAt   = [...]time.Duration{time.Minute, 5 * time.Minute}
)

// recovery counts what intervals held, by horizon and by the time since the change at
// which they were made.
type recovery [len(changedAt)][len(sinceChange) - 1]struct{ in80, in95, all int }

// follow takes the forecaster through one change.
func (c *recovery) follow(y []float64, at int) {
	f, start := forecast.New(), time.Unix(0, 0)
	for i, v := range y {
		f.Observe(start.Add(time.Duration(i)*time.Second), int64(v))
		when := -1 // the last that has begun
		for when+1 < len(sinceChange) && i-at >= sinceChange[when+1] {
			when++
		}
		if when < 0 || when == len(sinceChange)-1 {
			continue
		}
		for k, h := range changedAt {
			due := i + int(h.Seconds())
			if in, ok := f.At(h); ok && due < len(y) {
				held := &c[k][when]
				held.all++
				came := int64(y[due])
				if backtest.Holds(in.Lower80, in.Upper80, came) {
					held.in80++
				}
				if backtest.Holds(in.Lower95, in.Upper95, came) {
					held.in95++
				}
			}
		}
	}
}

// changes is the coverage of intervals right after a change.
func changes(seeds, first uint64) string {
	var columns []string
	for i := range len(sinceChange) - 1 {
		columns = append(columns, fmt.Sprintf("%d to %d s", sinceChange[i], sinceChange[i+1]))
	}
	var b strings.Builder
	for k, h := range changedAt {
		if k > 0 {
			b.WriteString("\n")
		}
		b.WriteString(head("within 80 % / 95 %, "+horizonName(h.Seconds())+" ahead, made after", columns...))
		for _, kind := range regime.Changes() {
			var c recovery
			for seed := range seeds {
				y, at := kind.Make(regime.Seeded(first + seed))
				c.follow(y, at)
			}
			var cells []string
			for _, held := range c[k] {
				cells = append(cells, portion(held.in80, held.all)+" / "+portion(held.in95, held.all))
			}
			b.WriteString(row(kind.Name, cells))
		}
	}
	return b.String()
}

func portion(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(of))
}
