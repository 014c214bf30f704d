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
	make func() backtest.Method
}

// methods are the forecaster, then the baselines.
func methods() []method {
	all := []method{{"vramscope", func() backtest.Method { return forecast.New() }}}
	for _, b := range baseline.All() {
		all = append(all, method{b.Name, func() backtest.Method { return b.New() }})
	}
	return all
}

// measured are the figures of each method on each regime.
type measured struct {
	seeds, first uint64
	methods      []string
	regimeNames  []string
	summaries    [][]backtest.Summary // by method, then by regime
	nanos        []float64            // a sample, by method
}

func measure(seeds, first uint64, now func() time.Time) (*measured, error) {
	m := &measured{seeds: seeds, first: first}
	for _, g := range regime.All() {
		m.regimeNames = append(m.regimeNames, g.Name)
	}
	for _, method := range methods() {
		m.methods = append(m.methods, method.name)
		var row []backtest.Summary
		var spent time.Duration
		samples := 0
		for _, g := range regime.All() {
			var scores []*backtest.Score
			for seed := range seeds {
				s := backtest.Evenly(g.Name, 1, int64(regime.Capacity), g.Make(regime.Seeded(first+seed)))
				score, err := backtest.Replay(method.make(), s, nil)
				if err != nil {
					return nil, fmt.Errorf("%s on %s: %w", method.name, g.Name, err)
				}
				if seed < 4 { // enough to know what a sample costs
					spent += backtest.Cost(method.make, s, now)
					samples += len(s.Samples)
				}
				scores = append(scores, score)
			}
			row = append(row, backtest.Summarise(scores...))
		}
		m.summaries = append(m.summaries, row)
		m.nanos = append(m.nanos, float64(spent.Nanoseconds())/float64(samples))
	}
	return m, nil
}

// of is what the forecaster reached on a regime.
func (m *measured) of(name string) *backtest.Summary {
	for i, is := range m.regimeNames {
		if is == name {
			return &m.summaries[0][i]
		}
	}
	panic("no regime is called " + name) // the names are written in this package
}

// recorded scores every method on a recording.
func recorded(path string) ([]backtest.Summary, error) {
	trace, err := readRecording(path)
	if err != nil {
		return nil, err
	}
	var all []backtest.Summary
	for _, method := range methods() {
		var scores []*backtest.Score
		for _, s := range trace.Series {
			score, err := backtest.Replay(method.make(), s, nil)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", method.name, err)
			}
			scores = append(scores, score)
		}
		all = append(all, backtest.Summarise(scores...))
	}
	return all, nil
}

func readRecording(path string) (*backtest.Trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the recording: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	return backtest.Read(file)
}
