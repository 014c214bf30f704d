package sources

import (
	"context"
	"errors"
	"runtime/debug"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// TestCancelledWatch: a cancelled watch returns the cause, and no snapshot.
func TestCancelledWatch(t *testing.T) {
	p := &command.Program{Now: time.Now}
	p.Flags.Demo = true
	s := config.Defaults()
	src := OpenWith(p, &s, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	snap, err := src.Observe(ctx, sampler.New(src.Options), time.Hour)
	if snap != nil || err == nil || err.Error() != "enough" {
		t.Errorf("got %v, %v", snap, err)
	}
}

// TestGPUsAloneAskNoServer: a claim for a lease would wait for an answer that nothing reads.
func TestGPUsAloneAskNoServer(t *testing.T) {
	library := nvml.New(nvml.Options{LibraryPath: t.TempDir() + "/none.so"})
	src := &Set{Library: library, Options: sampler.Options{Devices: library, Processes: process.NewTable("/proc"), Clock: time.Now}}
	src.Options.Servers = func(*snapshot.Snapshot) []snapshot.Event {
		t.Error("servers are asked")
		return nil
	}
	src.GPUs()
}

// TestGarbageOfOneSnapshot: GOGC in the environment takes precedence.
func TestGarbageOfOneSnapshot(t *testing.T) {
	const set = 70
	percent := debug.SetGCPercent(set)
	defer debug.SetGCPercent(percent)
	box := simulator.New(simulator.Options{Clock: time.Now})
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
