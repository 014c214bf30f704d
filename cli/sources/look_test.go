package sources

import (
	"runtime/debug"
	"testing"
	"time"

	"vramscope/sampler"
	"vramscope/sampler/simulator"
)

// TestGarbageOfOneSnapshot: GOGC in the environment comes first.
func TestGarbageOfOneSnapshot(t *testing.T) {
	const set = 70
	percent := debug.SetGCPercent(set)
	defer debug.SetGCPercent(percent)
	box, err := simulator.New(simulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for environment, want := range map[string]int{"": 800, "70": set} {
		t.Setenv("GOGC", environment)
		debug.SetGCPercent(set)
		src := &Set{Options: sampler.Options{Clock: time.Now, Devices: box, Probes: box, Processes: box}}
		src.Look(t.Context(), sampler.New(src.Options))
		if got := debug.SetGCPercent(set); got != want {
			t.Errorf("GOGC=%q: %d, want %d", environment, got, want)
		}
	}
}
