package main

import (
	"fmt"
	"strings"
	"time"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

// The seconds since a change that divide its forecasts, and the horizons shown.
var (
	sinceChange = [...]int{0, 15, 30, 60, 300, 900}
	changedAt   = [...]int{minute, 4} // indices of horizons
)

// recovery counts what intervals held, by horizon and by time since the change.
type recovery [len(changedAt)][len(sinceChange) - 1]struct{ in80, in95, all int }

// follow takes the forecaster through one change.
func (c *recovery) follow(y []float64, at int) {
	f, start := forecast.New(), time.Unix(0, 0)
	room := make([]forecast.Interval, 0, len(forecast.Horizons))
	for i, v := range y {
		f.Observe(start.Add(time.Duration(i)*time.Second), int64(v))
		room = f.Forecasts(room[:0])
		when := -1 // the last that has begun
		for when+1 < len(sinceChange) && i-at >= sinceChange[when+1] {
			when++
		}
		if when < 0 || when == len(sinceChange)-1 {
			continue
		}
		for k, at := range changedAt {
			due := i + int(forecast.Horizons[at].Seconds())
			if len(room) > 0 && due < len(y) {
				in, held := room[at], &c[k][when]
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
func changes(s seeds) string {
	titles := each(len(sinceChange)-1, func(i int) string { return fmt.Sprintf("%d to %d s", sinceChange[i], sinceChange[i+1]) })
	var names []string
	var all []recovery
	for _, kind := range regime.Changes() {
		var c recovery
		for seed := s.first; seed < s.first+s.count; seed++ {
			c.follow(kind.Make(regime.Seeded(seed)))
		}
		names, all = append(names, kind.Name), append(all, c)
	}
	return strings.Join(each(len(changedAt), func(k int) string {
		return grid("within 80 % / 95 %, "+horizonNames()[changedAt[k]]+" ahead, made after", titles, names, func(i int) []string {
			return each(len(titles), func(when int) string {
				held := all[i][k][when]
				return portion(held.in80, held.all) + " / " + portion(held.in95, held.all)
			})
		})
	}), "\n")
}

func portion(n, of int) string { return written("%.0f %%", 100*backtest.Figure(n)/backtest.Figure(of)) }
