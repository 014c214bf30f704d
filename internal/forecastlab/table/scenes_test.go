package main

import (
	"testing"

	"vramscope/internal/forecastlab/regime"
)

// A GPU that begins to fill fast is alarmed in time, however young its process is and
// however rare its samples; a load is not alarmed, nor a
// server's second one.
func TestMonitorAlarmsFastRampsAndNoLoads(t *testing.T) {
	const first, seeds = 1000, 4
	for _, step := range regime.SceneSteps() {
		var n rampScenes
		for _, age := range regime.RampAges() {
			for seed := uint64(first); seed < first+seeds; seed++ {
				s := regime.FastRamp(regime.Seeded(seed), step, age)
				raised, err := play("ramp", seed, &s)
				if err != nil {
					t.Fatal(err)
				}
				n.add(&s, raised)
			}
		}
		if n.early > 0 || float64(n.inTime) < 0.95*float64(n.scenes) {
			t.Errorf("every %v s: %d of %d ramps are alarmed in time, %d too early", step, n.inTime, n.scenes, n.early)
		}
		for i, kind := range loadKinds {
			alarmed := 0
			for seed := uint64(first); seed < first+3*seeds; seed++ {
				s := kind.make(seed, step)
				raised, err := play(kind.name, seed, &s)
				if err != nil {
					t.Fatal(err)
				}
				alarmed += len(raised)
			}
			if alarmed > i { // one second load of a dozen may look like a ramp
				t.Errorf("every %v s: %s: %d alarms", step, kind.name, alarmed)
			}
		}
	}
}
