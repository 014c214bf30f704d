package main

import (
	"fmt"

	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
	"vramscope/sampler/replay"
)

// rampScenes is how the monitor's alarms came where a ramp fills the GPU.
type rampScenes struct{ scenes, inTime, early int }

func (n *rampScenes) add(s *regime.Scene, raised []float64) {
	limit := max(25, 8*s.Step) // seconds after the ramp's start
	n.scenes++
	for _, at := range raised {
		if at < s.Ramp {
			n.early++
			continue
		}
		if at-s.Ramp <= limit {
			n.inTime++
		}
		return
	}
}

// play returns when the monitor raised its alarm in a scene, in seconds.
func play(name string, seed uint64, s *regime.Scene) ([]float64, error) {
	series := backtest.Evenly(seriesName(name, seed), s.Step, int64(regime.Capacity), s.Bytes)
	series.Age = s.Age
	score, err := backtest.Replay(replay.New(series), series, nil)
	if err != nil {
		return nil, fmt.Errorf("play %s: %w", series.ID, err)
	}
	return score.Filling.Raised, nil
}

var loadKinds = []struct {
	name string
	make func(seed uint64, step float64) regime.Scene
}{
	{"load", func(seed uint64, step float64) regime.Scene { return regime.Load(regime.Seeded(seed), step) }},
	{"load, plateau, load", func(seed uint64, step float64) regime.Scene { return regime.LoadPlateauLoad(regime.Seeded(seed), step) }},
}

// scenes are those at one time between samples.
type scenes struct {
	step  float64 // seconds
	ramps rampScenes
	loads []int // by kind: the scenes alarmed
}

func playScenes(s seeds) ([]scenes, error) {
	all := make([]scenes, len(regime.SceneSteps()))
	return all, parallel(len(all), func(j int) error {
		at := &all[j]
		at.step, at.loads = regime.SceneSteps()[j], make([]int, len(loadKinds))
		for seed := s.first; seed < s.first+s.count; seed++ {
			for _, age := range regime.RampAges() {
				ramp := regime.FastRamp(regime.Seeded(seed), at.step, age)
				raised, err := play("fast ramp", seed, &ramp)
				if err != nil {
					return err
				}
				at.ramps.add(&ramp, raised)
			}
			for i, kind := range loadKinds {
				load := kind.make(seed, at.step)
				raised, err := play(kind.name, seed, &load)
				if err != nil {
					return err
				}
				at.loads[i] += min(len(raised), 1)
			}
		}
		return nil
	})
}

// sceneGates are those of ramps and loads in the monitor.
func sceneGates(all []scenes) []gate {
	inTime := gate{what: "monitor: a ramp alarmed within max(25 s, 8 samples)", aim: "≥ 95 % at each step"}
	early := gate{what: "monitor: a ramp alarmed before it begins", aim: "none"}
	loads := gate{what: "monitor: loads alarmed", aim: "none"}
	for i := range all {
		name, n := fmt.Sprintf("every %g s", all[i].step), all[i].ramps
		inTime.atLeast(name, backtest.Figure(n.inTime)/backtest.Figure(n.scenes), 0.95, percentage)
		early.atMost(name, backtest.Figure(n.early), 0, whole)
		for k, alarmed := range all[i].loads {
			loads.atMost(loadKinds[k].name+" "+name, backtest.Figure(alarmed), 0, whole)
		}
	}
	return []gate{inTime, early, loads}
}
