package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

// leaks is gate 11: what the monitor marks as a leak.
func leaks(o *options) []row {
	n, called := o.count(60), 0
	for i, late := range each(n, func(i int) float64 {
		y, begins := regime.LateLeak(regime.Seeded(o.first + uint64(i)))
		return watch(&series{bytes: y, every: 1}).leak - begins
	}) {
		if late >= 0 && late <= 900 {
			called++
		} else {
			o.detail("leak, seed %d: called after %.0f s", o.first+uint64(i), late)
		}
	}
	rows := []row{{11, "leaks called within 15 min of their onset", "≥ 90 %", share(called, n), float64(called) >= 0.9*float64(n), fmt.Sprintf("%d leaks", n)}}
	for _, kind := range []struct {
		name string
		make func(*rand.Rand) []float64
		step float64
	}{{"bounded walks", regime.BoundedWalk, 1}, {"long first epochs", regime.LongFirstEpoch, 1}, {"sines of a day", regime.DaySine, regime.DaySineStep}} {
		n, wrongly := o.count(36), 0
		for _, w := range each(n, func(i int) watched {
			return watch(&series{bytes: kind.make(regime.Seeded(o.first + uint64(i))), every: kind.step})
		}) {
			if w.leak > 0 {
				wrongly++
			}
		}
		rows = append(rows, row{11, kind.name + " called leaks", "≤ 1/6", share(wrongly, n), 6*wrongly <= n, fmt.Sprintf("%d series", n)})
	}
	return rows
}

// realTraces is gate 12. The traces are no part of the project: VRAMSCOPE_TRACES is their
// directory.
func realTraces(o *options) []row {
	const groups = 18
	result := row{gate: 12, what: "real traces: error ≤ 1.02 × the naive method's at every horizon", aim: "≥ 16 of 18 groups", figure: "–", of: "no traces in VRAMSCOPE_TRACES"}
	files, err := filepath.Glob(filepath.Join(os.Getenv("VRAMSCOPE_TRACES"), "*.csv.gz"))
	if err != nil || len(files) == 0 {
		return []row{result}
	}
	var all []*backtest.Series
	for _, name := range files {
		read, err := readTrace(name)
		if err != nil {
			result.of = err.Error()
			return []row{result}
		}
		all = append(all, read...)
	}
	scores := each(len(all), func(i int) *backtest.Score {
		score, err := backtest.Replay(forecast.New(), all[i], nil)
		if err != nil {
			panic(err) // only a listener makes one
		}
		return score
	})
	good := 0
	for g := range groups {
		var group []*backtest.Score
		for i := g; i < len(scores); i += groups {
			group = append(group, scores[i])
		}
		worst := 0.0
		for _, h := range backtest.Summarise(group...).Horizons {
			if h.Forecasts > 0 {
				worst = max(worst, float64(h.Relative))
			}
		}
		o.detail("real traces, group %d: %.3f at the worst horizon", g, worst)
		if worst <= 1.02 {
			good++
		}
	}
	result.figure, result.met, result.of = fmt.Sprint(good), good >= 16, fmt.Sprintf("%d series", len(all))
	return []row{result}
}

func readTrace(name string) ([]*backtest.Series, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the trace: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	trace, err := backtest.Read(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return trace.Series, nil
}
