package main

import (
	"fmt"
	"slices"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

// ablated are the figures of the forecaster, whole or without a part.
type ablated struct {
	name      string
	summaries []backtest.Summary // by regime
}

// parts are the names of the parts of the method, by number.
var parts = [forecast.Parts]string{
	"quick drift", "short drift", "short line", "long line", "autoregression", "seasonal",
	"forgetting at a restart", "crests", "course",
}

// ablation scores the whole forecaster, then what is left of it without each part.
func ablation(s seeds, regimes []regime.Regime) ([]ablated, error) {
	all := []ablated{{name: "whole"}}
	for _, part := range parts {
		all = append(all, ablated{name: "without " + part})
	}
	for i := range all {
		all[i].summaries = make([]backtest.Summary, len(regimes))
	}
	return all, parallel(len(regimes), func(i int) error {
		series := made(&regimes[i], s)
		for j := range all {
			sum, err := scored(series, func(*backtest.Series) backtest.Method {
				if j == 0 {
					return forecast.New()
				}
				return forecast.Without(j - 1)
			})
			if err != nil {
				return err
			}
			all[j].summaries[i] = sum
		}
		return nil
	})
}

// mean is the geometric mean over the regimes.
func (a *ablated) mean(figure func(*backtest.Summary) backtest.Figure) backtest.Figure {
	return geometric(len(a.summaries), func(i int) backtest.Figure { return figure(&a.summaries[i]) })
}

// average is the mean over the regimes where the figure is known.
func (a *ablated) average(figure func(*backtest.Summary) backtest.Figure) backtest.Figure {
	sum, n := backtest.Figure(0), 0
	for i := range a.summaries {
		if v := figure(&a.summaries[i]); v.Known() {
			sum, n = sum+v, n+1
		}
	}
	return sum / backtest.Figure(n)
}

func relativeAt(k int) func(*backtest.Summary) backtest.Figure {
	return func(s *backtest.Summary) backtest.Figure { return s.Horizons[k].Relative }
}

// The horizons that the ablation compares: 10 s, 1 min and 5 min.
var compared = [...]int{0, minute, 4}

// winkler is the geometric mean at those horizons, bytes.
func winkler(s *backtest.Summary) backtest.Figure {
	return geometric(len(compared), func(i int) backtest.Figure { return s.Horizons[compared[i]].In80.Winkler + 1<<20 })
}

// most is the regime and the horizon at which a part gains most: the error without it
// over the error with it.
func (a *ablated) most(whole *ablated, names []string) string {
	best, where := backtest.Figure(0), ""
	for i := range a.summaries {
		for _, k := range compared {
			v := a.summaries[i].Horizons[k].Relative / whole.summaries[i].Horizons[k].Relative
			if v > best {
				best, where = v, names[i]+" at "+horizonNames()[k]
			}
		}
	}
	return fmt.Sprintf("%s %+.0f %%", where, 100*(best-1))
}

// ablationTable has a row for each part.
func ablationTable(all []ablated, names []string) string {
	titles := []string{"error at 10 s", "1 min", "5 min", "Winkler 80 %, GiB", "recall", "precision", "lead, s", "time to full", "wrong leaks", "most in a regime"}
	rows := each(len(all), func(i int) string { return all[i].name })
	return grid("", titles, rows, func(i int) []string {
		a := &all[i]
		cells := each(len(compared), func(k int) string { return written("%.3f", a.mean(relativeAt(compared[k]))) })
		cells = append(cells, written("%.3f", a.mean(winkler)/backtest.Figure(regime.GiB)),
			written("%.3f", a.average(func(s *backtest.Summary) backtest.Figure { return s.Alarms.Recall })),
			written("%.3f", a.average(func(s *backtest.Summary) backtest.Figure { return s.Alarms.Precision })),
			whole(a.average(func(s *backtest.Summary) backtest.Figure { return s.Alarms.Lead })),
			percentage(a.average(func(s *backtest.Summary) backtest.Figure { return s.TimeToFull[0].Error })),
			fmt.Sprint(a.wrongLeaks(names)))
		if i == 0 {
			return append(cells, "")
		}
		return append(cells, a.most(&all[0], names))
	})
}

// wrongLeaks counts the series of harmless regimes that are called a leak.
func (a *ablated) wrongLeaks(names []string) int {
	n := 0
	for i, name := range names {
		if slices.Contains(harmless, name) && name != "leak that ends" {
			n += a.summaries[i].Leak.Series
		}
	}
	return n
}
