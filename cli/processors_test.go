package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"vramscope/sampler"
	"vramscope/sampler/simulator"
)

// TestStayLight: how many processors a monitor runs on does not depend on the machine.
func TestStayLight(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	t.Setenv("GOGC", "")
	before, percent := runtime.GOMAXPROCS(128), debug.SetGCPercent(100)
	defer func() { runtime.GOMAXPROCS(before); debug.SetGCPercent(percent) }()
	p := &program{getenv: func(string) string { return "" }}
	restore := p.stayLight()
	if n, percent := runtime.GOMAXPROCS(0), debug.SetGCPercent(100); n != 1 || percent != 35 {
		t.Errorf("%d processors, GOGC %d", n, percent)
	}
	restore()
	if n := runtime.GOMAXPROCS(0); n != 128 {
		t.Errorf("%d processors afterwards", n)
	}
	t.Setenv("GOMAXPROCS", "128")
	p.stayLight()()
	if n := runtime.GOMAXPROCS(0); n != 128 {
		t.Errorf("%d processors against the environment", n)
	}
}

// TestGarbageOfOneSnapshot: GOGC in the environment comes first.
func TestGarbageOfOneSnapshot(t *testing.T) {
	const set = 70
	percent := debug.SetGCPercent(set)
	defer debug.SetGCPercent(percent)
	box, err := simulator.New(simulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for environment, want := range map[string]int{"": lookGCPercent, "70": set} {
		t.Setenv("GOGC", environment)
		debug.SetGCPercent(set)
		src := &sources{options: sampler.Options{Clock: time.Now, Devices: box, Probes: box, Processes: box}}
		src.look(t.Context(), sampler.New(src.options))
		if got := debug.SetGCPercent(set); got != want {
			t.Errorf("GOGC=%q: %d, want %d", environment, got, want)
		}
	}
}
