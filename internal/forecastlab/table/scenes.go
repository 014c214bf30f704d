package main

import (
	"fmt"
	"slices"
	"strings"

	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
	"vramscope/sampler/replay"
)

// ramps is what the monitor's alarms were worth where a ramp fills the GPU.
type ramps struct {
	scenes, inTime, early int
	delays, leads         []float64 // of those that were alarmed, seconds
}

// latest is how many seconds after its start a ramp must be alarmed.
func latest(step float64) float64 { return max(25, 8*step) }

func (n *ramps) add(s *regime.Scene, raised []float64) {
	full := s.Step * float64(slices.Index(s.Bytes, regime.Capacity))
	n.scenes++
	for _, at := range raised {
		if at < s.Ramp {
			n.early++
			continue
		}
		n.delays, n.leads = append(n.delays, at-s.Ramp), append(n.leads, full-at)
		if at-s.Ramp <= latest(s.Step) {
			n.inTime++
		}
		return
	}
}

// played is the score of the monitor in a scene.
func played(id string, s *regime.Scene) (*backtest.Score, error) {
	series := backtest.Evenly(id, s.Step, int64(regime.Capacity), s.Bytes)
	series.Age = s.Age
	score, err := backtest.Replay(replay.New(series), series, nil)
	if err != nil {
		return nil, fmt.Errorf("play %s: %w", id, err)
	}
	return score, nil
}

// rampTable is how soon ramps are alarmed.
func rampTable(seeds, first uint64) (string, error) {
	var rows []string
	var all []ramps
	for _, age := range regime.RampAges() {
		for _, step := range regime.SceneSteps() {
			var n ramps
			name := fmt.Sprintf("process of %.0f min, every %g s", age/60, step)
			for seed := first; seed < first+seeds; seed++ {
				s := regime.FastRamp(regime.Seeded(seed), step, age)
				score, err := played(seriesName(name, seed), &s)
				if err != nil {
					return "", err
				}
				n.add(&s, score.Filling.Raised)
			}
			rows, all = append(rows, name), append(all, n)
		}
	}
	titles := []string{"in time", "never", "too early", "delay, s: half", "9 of 10", "median lead, s"}
	return grid("a fast ramp", titles, rows, func(i int) []string {
		n := &all[i]
		return []string{portion(n.inTime, n.scenes), fmt.Sprint(n.scenes - len(n.delays)), fmt.Sprint(n.early),
			whole(quantile(n.delays, 0.5)), whole(quantile(n.delays, 0.9)), whole(quantile(n.leads, 0.5))}
	}), nil
}

// loadTable is how often a load is alarmed.
func loadTable(seeds, first uint64) (string, error) {
	kinds := []struct {
		name  string
		makes func(seed uint64, step float64) regime.Scene
	}{
		{"load", func(seed uint64, step float64) regime.Scene { return regime.Load(regime.Seeded(seed), step) }},
		{"load, plateau, load", func(seed uint64, step float64) regime.Scene { return regime.LoadPlateauLoad(regime.Seeded(seed), step) }},
	}
	var rows, cells []string
	for _, kind := range kinds {
		for _, step := range regime.SceneSteps() {
			alarmed := 0
			for seed := first; seed < first+seeds; seed++ {
				s := kind.makes(seed, step)
				score, err := played(seriesName(kind.name, seed), &s)
				if err != nil {
					return "", err
				}
				alarmed += min(len(score.Filling.Raised), 1)
			}
			rows = append(rows, fmt.Sprintf("%s, every %g s", kind.name, step))
			cells = append(cells, fmt.Sprintf("%d of %d", alarmed, seeds))
		}
	}
	return grid("a load", []string{"alarmed"}, rows, func(i int) []string { return cells[i : i+1] }), nil
}

// monitorTables are the alarms that people would have seen.
func monitorTables(seeds, first uint64) (string, error) {
	ramps, err := rampTable(seeds, first)
	if err != nil {
		return "", err
	}
	loads, err := loadTable(seeds, first)
	if err != nil {
		return "", err
	}
	var rows []string
	var all []backtest.Summary
	for _, g := range regime.All() {
		sum, err := scored(made(g, seeds, first), func(s *backtest.Series) backtest.Method { return replay.New(s) })
		if err != nil {
			return "", err
		}
		rows, all = append(rows, g.Name), append(all, sum)
	}
	titles := []string{"fills", "alarms", "precision", "recall", "median lead, s", "false a day"}
	return strings.Join([]string{ramps, loads, grid("alarms in the monitor", titles, rows, func(i int) []string {
		a := &all[i].Alarms
		return []string{whole(a.Fills), whole(a.Raised), share(a.Precision), share(a.Recall), whole(a.Lead), written("%.1f", a.WrongPerDay)}
	})}, "\n"), nil
}

// quantile sorts its argument; of nothing it is unknown.
func quantile(v []float64, share float64) backtest.Figure {
	if len(v) == 0 {
		return unknown
	}
	slices.Sort(v)
	return backtest.Figure(v[int(share*float64(len(v)-1))])
}
