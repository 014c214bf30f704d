package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"vramscope/forecast"
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

// atOrigins scores every method at the samples from which the libraries forecast.
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
	return summaries, parallel(len(list), func(i int) (err error) {
		summaries[i], err = scored(series, func(s *backtest.Series) backtest.Method {
			return &limited{Method: list[i].make(s), series: s, at: func(seconds float64) bool { return origins[s.ID][seconds] != nil }}
		})
		if err == nil && summaries[i].Horizons[0].Forecasts != summaries[0].Horizons[0].Forecasts {
			err = fmt.Errorf("%s has %d forecasts of %s, others %d", list[i].name, summaries[i].Horizons[0].Forecasts, regime, summaries[0].Horizons[0].Forecasts)
		}
		return err
	})
}

// table is the geometric mean of the errors of all regimes, and of the Winkler scores
// of those methods that have intervals.
func (m *sampled) table() string {
	winklers := grid("Winkler score of the 80 % interval, GiB", append([]string{m.methods[0]}, libraries...), horizonNames(), func(k int) []string {
		return each(1+len(libraries), func(j int) string {
			if j > 0 {
				j += len(m.methods) - len(libraries) - 1
			}
			mean := geometric(len(m.rows), func(i int) backtest.Figure { return m.rows[i].summaries[j].Horizons[k].In80.Winkler + 1<<20 })
			return gibibytes(mean)
		})
	})
	return fmt.Sprintf("%d origins in %d regimes.\n\n", m.origins, len(m.rows)) + m.overallTable() + "\n" + winklers + "\n" + m.better()
}

// better names the regimes in which a library is better by more than a twentieth.
func (m *sampled) better() string {
	text := ""
	for k := range forecast.Horizons {
		for j, name := range m.methods {
			if !slices.Contains(libraries, name) {
				continue
			}
			for i := range m.rows {
				own, other := m.rows[i].summaries[0].Horizons[k].Relative, m.rows[i].summaries[j].Horizons[k].Relative
				if (k == minute || k == 4) && own > 1.05*other && !math.IsInf(float64(own/other), 0) {
					text += fmt.Sprintf("%s is better at %s on %s: %s, vramscope %s.\n", name, horizonNames()[k], m.rows[i].regime, share(other), share(own))
				}
			}
		}
	}
	return text
}
