package main

import (
	"testing"

	"vramscope/internal/forecastlab/regime"
)

// A GPU that begins to fill fast is alarmed in time, however young its process is and
// however rare its samples; a load is not alarmed.
func TestMonitorAlarmsFastRampsAndNoLoads(t *testing.T) {
	const first, seeds = 1000, 4
	for _, step := range regime.SceneSteps() {
		var n rampScenes
		for _, age := range regime.RampAges() {
			for seed := uint64(first); seed < first+seeds; seed++ {
				s := regime.FastRamp(regime.Seeded(seed), step, age)
				score, err := played("ramp", &s)
				if err != nil {
					t.Fatal(err)
				}
				n.add(&s, score.Filling.Raised)
			}
		}
		if n.early > 0 || float64(n.inTime) < 0.95*float64(n.scenes) {
			t.Errorf("every %v s: %d of %d ramps are alarmed in time, %d too early", step, n.inTime, n.scenes, n.early)
		}
		alarmed := 0
		for seed := uint64(first); seed < first+seeds; seed++ {
			s := regime.Load(regime.Seeded(seed), step)
			score, err := played("load", &s)
			if err != nil {
				t.Fatal(err)
			}
			alarmed += len(score.Filling.Raised)
		}
		if alarmed > 0 {
			t.Errorf("every %v s: %d loads are alarmed", step, alarmed)
		}
	}
}
