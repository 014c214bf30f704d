package main

import (
	"fmt"
	"os"
	"time"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/baseline"
	"vramscope/internal/forecastlab/regime"
)

// method is what is measured.
type method struct {
	name string
	make func(*backtest.Series) backtest.Method
}

// methods are the forecaster, then the baselines.
func methods() []method {
	all := []method{{"vramscope", func(*backtest.Series) backtest.Method { return forecast.New() }}}
	for _, b := range baseline.All() {
		all = append(all, method{b.Name, func(*backtest.Series) backtest.Method { return b.New() }})
	}
	return all
}

// scored is what a method's forecasts of several series are worth.
func scored(all []*backtest.Series, begin func(*backtest.Series) backtest.Method) (backtest.Summary, error) {
	var scores []*backtest.Score
	for _, s := range all {
		score, err := backtest.Replay(begin(s), s, nil)
		if err != nil {
			return backtest.Summary{}, fmt.Errorf("score %s: %w", s.ID, err)
		}
		scores = append(scores, score)
	}
	return backtest.Summarise(scores...), nil
}

// figures are the figures of each method on each regime.
type figures struct {
	methods, regimeNames []string
	summaries            [][]backtest.Summary // by regime, then by method
}

// measured are the figures of the forecaster and the baselines.
type measured struct {
	figures
	seeds, first uint64
	nanos        []float64 // a sample, by method
}

func measure(seeds, first uint64, now func() time.Time) (*measured, error) {
	const timed = 4 // series of each regime: enough to know what a sample costs
	m := &measured{seeds: seeds, first: first, nanos: make([]float64, len(methods()))}
	for _, method := range methods() {
		m.methods = append(m.methods, method.name)
	}
	samples := 0
	for _, g := range regime.All() {
		series := made(g, seeds, first)
		var row []backtest.Summary
		for j, method := range methods() {
			sum, err := scored(series, method.make)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", method.name, g.Name, err)
			}
			row = append(row, sum)
			for _, s := range series[:min(timed, len(series))] {
				m.nanos[j] += cost(method, s, now)
			}
		}
		for _, s := range series[:min(timed, len(series))] {
			samples += len(s.Samples)
		}
		m.regimeNames = append(m.regimeNames, g.Name)
		m.summaries = append(m.summaries, row)
	}
	for j := range m.nanos {
		m.nanos[j] /= float64(samples)
	}
	return m, nil
}

// cost is the nanoseconds that a method takes for a series.
func cost(m method, s *backtest.Series, now func() time.Time) float64 {
	return float64(backtest.Cost(func() backtest.Method { return m.make(s) }, s, now).Nanoseconds())
}

// made are the series of a regime.
func made(g regime.Regime, seeds, first uint64) []*backtest.Series {
	var all []*backtest.Series
	for seed := first; seed < first+seeds; seed++ {
		all = append(all, backtest.Evenly(seriesName(g.Name, seed), g.Every(), int64(regime.Capacity), g.Make(regime.Seeded(seed))))
	}
	return all
}

// of is what the forecaster reached on a regime.
func (m *measured) of(name string) *backtest.Summary {
	for i, is := range m.regimeNames {
		if is == name {
			return &m.summaries[i][0]
		}
	}
	panic("no regime is called " + name) // the names are written in this package
}

func readRecording(path string) (*backtest.Trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the recording: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	return backtest.Read(file)
}
