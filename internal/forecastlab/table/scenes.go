package main

import (
	"fmt"
	"slices"

	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
	"vramscope/sampler/replay"
)

// rampScenes is what the monitor's alarms were worth where a ramp fills the GPU.
type rampScenes struct {
	scenes, inTime, early int
	delays, leads         []float64 // of those that were alarmed, seconds
}

// latest is how many seconds after its start a ramp must be alarmed.
func latest(step float64) float64 { return max(25, 8*step) }

func (n *rampScenes) add(s *regime.Scene, raised []float64) {
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

// join adds another's.
func (n *rampScenes) join(other *rampScenes) {
	n.scenes, n.inTime, n.early = n.scenes+other.scenes, n.inTime+other.inTime, n.early+other.early
	n.delays, n.leads = append(n.delays, other.delays...), append(n.leads, other.leads...)
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

// scenes are how soon ramps were alarmed, by age of the process and by step, and how
// many loads were.
type scenes struct {
	ages, steps []float64
	ramps       [][]rampScenes // by age, then by step
	loads       [][]int        // by kind, then by step: the scenes alarmed
	count       uint64
}

var loadKinds = []struct {
	name string
	make func(seed uint64, step float64) regime.Scene
}{
	{"load", func(seed uint64, step float64) regime.Scene { return regime.Load(regime.Seeded(seed), step) }},
	{"load, plateau, load", func(seed uint64, step float64) regime.Scene { return regime.LoadPlateauLoad(regime.Seeded(seed), step) }},
}

func playScenes(s seeds) (*scenes, error) {
	all := &scenes{ages: regime.RampAges(), steps: regime.SceneSteps(), count: s.count}
	all.ramps, all.loads = make([][]rampScenes, len(all.ages)), make([][]int, len(loadKinds))
	for i := range all.ramps {
		all.ramps[i] = make([]rampScenes, len(all.steps))
	}
	for i := range all.loads {
		all.loads[i] = make([]int, len(all.steps))
	}
	return all, parallel(len(all.steps), func(j int) error {
		return s.each(func(seed uint64) error { return all.play(seed, j) })
	})
}

// play plays all scenes of a seed at a step.
func (all *scenes) play(seed uint64, step int) error {
	for i, age := range all.ages {
		s := regime.FastRamp(regime.Seeded(seed), all.steps[step], age)
		score, err := played(seriesName("fast ramp", seed), &s)
		if err != nil {
			return err
		}
		all.ramps[i][step].add(&s, score.Filling.Raised)
	}
	for i, kind := range loadKinds {
		s := kind.make(seed, all.steps[step])
		score, err := played(seriesName(kind.name, seed), &s)
		if err != nil {
			return err
		}
		all.loads[i][step] += min(len(score.Filling.Raised), 1)
	}
	return nil
}

// gates are those of ramps and loads in the monitor.
func (all *scenes) gates() []gate {
	inTime := gate{what: "monitor: a ramp alarmed within max(25 s, 8 samples)", aim: "≥ 95 % by age and by step"}
	early := gate{what: "monitor: a ramp alarmed before it begins", aim: "none"}
	loads := gate{what: "monitor: loads alarmed", aim: "none"}
	var total rampScenes
	add := func(name string, n *rampScenes) {
		inTime.atLeast(name, backtest.Figure(n.inTime)/backtest.Figure(n.scenes), 0.95, percentage)
	}
	for i, age := range all.ages {
		var n rampScenes
		for j := range all.steps {
			n.join(&all.ramps[i][j])
		}
		add(fmt.Sprintf("process of %.0f min", age/60), &n)
		total.join(&n)
	}
	for j, step := range all.steps {
		var n rampScenes
		for i := range all.ages {
			n.join(&all.ramps[i][j])
		}
		add(fmt.Sprintf("every %g s", step), &n)
	}
	early.most("all", backtest.Figure(total.early), 0, whole)
	for i, kind := range loadKinds {
		sum := 0
		for _, n := range all.loads[i] {
			sum += n
		}
		loads.most(kind.name, backtest.Figure(sum), 0, func(v backtest.Figure) string {
			return fmt.Sprintf("%.0f of %d", v, int(all.count)*len(all.steps))
		})
	}
	return []gate{inTime, early, loads}
}

// table is how soon ramps are alarmed.
func (all *scenes) table() string {
	var rows []string
	var flat []*rampScenes
	for i, age := range all.ages {
		for j, step := range all.steps {
			rows = append(rows, fmt.Sprintf("process of %.0f min, every %g s", age/60, step))
			flat = append(flat, &all.ramps[i][j])
		}
	}
	titles := []string{"in time", "never", "too early", "delay, s: half", "9 of 10", "median lead, s"}
	return grid("a fast ramp", titles, rows, func(i int) []string {
		n := flat[i]
		return []string{portion(n.inTime, n.scenes), fmt.Sprint(n.scenes - len(n.delays)), fmt.Sprint(n.early),
			whole(quantile(n.delays, 0.5)), whole(quantile(n.delays, 0.9)), whole(quantile(n.leads, 0.5))}
	})
}

// quantile sorts its argument; of nothing it is unknown.
func quantile(v []float64, share float64) backtest.Figure {
	if len(v) == 0 {
		return unknown
	}
	slices.Sort(v)
	return backtest.Figure(v[int(share*float64(len(v)-1))])
}
