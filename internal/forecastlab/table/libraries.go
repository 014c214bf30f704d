package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

// libraries are the methods of scripts/statsforecast.
var libraries = []string{"AutoETS", "AutoTheta"}

// sampled are the figures of every method at the few samples from which the libraries
// forecast.
type sampled struct {
	measured
	origins int
}

func measureLibraries(dir string, s seeds) (*sampled, error) {
	found := &sampled{measured: measured{seeds: s}}
	for _, m := range methods() {
		found.methods = append(found.methods, m.name)
	}
	found.methods = append(found.methods, libraries...)
	for _, g := range regime.All() {
		if _, err := os.Stat(libraryFile(dir, libraries[0], g.Name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		summaries, err := atOrigins(dir, g.Name, made(&g, s))
		if err != nil {
			return nil, err
		}
		found.origins += summaries[0].Horizons[0].Forecasts
		found.rows = append(found.rows, row{regime: g.Name, summaries: summaries})
	}
	if len(found.rows) == 0 {
		return nil, fmt.Errorf("%s has no forecasts of any regime", dir)
	}
	return found, nil
}

func libraryFile(dir, library, regime string) string {
	return filepath.Join(dir, library, fileName(regime)+".csv")
}

// atOrigins scores every method at the samples from which the libraries forecast. The
// relative error is that of all series together.
func atOrigins(dir, regime string, series []*backtest.Series) ([]backtest.Summary, error) {
	list := methods()
	var origins external
	for i, name := range libraries {
		all, err := readForecasts(libraryFile(dir, name, regime))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			origins = all
		}
		list = append(list, method{name, func(s *backtest.Series) backtest.Method { return all.of(s) }})
	}
	summaries := make([]backtest.Summary, len(list))
	err := parallel(len(list), func(i int) (err error) {
		summaries[i], err = scored(series, func(s *backtest.Series) backtest.Method {
			return &limited{Method: list[i].make(s), series: s, at: func(seconds float64) bool { return origins[s.ID][seconds] != nil }}
		})
		return err
	})
	for i := range summaries {
		if got, want := summaries[i].Horizons[0].Forecasts, summaries[0].Horizons[0].Forecasts; err == nil && got != want {
			err = fmt.Errorf("%s has %d forecasts of %s, others %d", list[i].name, got, regime, want)
		}
		for k := range summaries[i].Horizons { // a ratio of a few errors says nothing
			h := &summaries[i].Horizons[k]
			h.Relative = (h.MAE + 1<<20) / (h.NaiveMAE + 1<<20)
		}
	}
	return summaries, err
}

// table is the geometric mean of the errors of all regimes, of the Winkler scores of
// the methods that have intervals, and the regimes in which a library is better.
func (m *sampled) table() string {
	titles := slices.Clone(m.methods)
	intervals := []int{0}
	for j := len(m.methods) - len(libraries); j < len(m.methods); j++ {
		intervals = append(intervals, j)
	}
	for _, j := range intervals {
		titles = append(titles, "Winkler, GiB: "+m.methods[j])
	}
	errors := grid("all regimes", titles, shownNames(), func(i int) []string {
		k := shown[i]
		winklers := each(len(intervals), func(n int) backtest.Figure {
			return geometric(len(m.rows), func(i int) backtest.Figure { return m.rows[i].summaries[intervals[n]].Horizons[k].In80.Winkler + 1<<20 })
		})
		return append(boldest(share, each(len(m.methods), func(j int) backtest.Figure { return m.overall(j, k) })), boldest(gibibytes, winklers)...)
	})
	text := fmt.Sprintf("%d origins in %d regimes. ", m.origins, len(m.rows))
	for j := len(m.methods) - len(libraries); j < len(m.methods); j++ {
		text += m.better([]int{j})
	}
	return errors + "\n" + text
}
