//go:build linux && cgo

package gpucheck

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// TestGPUCheckPrograms runs the sections about programs with the stand-ins of the
// probe's tests, which allocate on the fake driver.
func TestGPUCheckPrograms(t *testing.T) {
	needs.Full(t)
	t.Parallel()
	needs.Tool(t, "python3")
	binary := needs.Vramscope(t)
	stand, err := filepath.Abs("../../probe/agent/testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	liar, err := filepath.Abs("testdata/liar")
	if err != nil {
		t.Fatal(err)
	}
	lies := []string{"PYTHONPATH=" + filepath.Join(filepath.Dir(liar), "lying") + ":" + stand, "FAKE_TORCH_DRIVER=1", "LIAR_REAL=" + binary}
	environment := []string{"PYTHONPATH=" + stand, "FAKE_TORCH_DRIVER=1", "FAKE_JAX_DRIVER=1"}
	start := func(sections string) func() *check {
		return func() *check {
			return startSections(t, binary, sections, fakedriver.Box(1, 0), "0", environment...)
		}
	}
	startHonest, startOthers := start("pytorch,expandable,async"), start("preloaded,training,graph,cupy,jax,native")
	startLying := func() *check {
		return startSections(t, liar, "pytorch", fakedriver.Box(1, 0), "0", lies...)
	}
	unlisted := fakedriver.Box(1, 0)
	unlisted.GPUs[0].Fail("nvmlDeviceGetComputeRunningProcesses*", fakedriver.NotSupported)
	startWhole := func() *check {
		return startSections(t, binary, "pytorch,native", unlisted, "0", environment...)
	}
	slow := fakedriver.Box(1, 0)
	slow.GPUs[0].Hang("cuMemFree_v2", time.Second)
	startFreeze := func() *check { return startSections(t, binary, "freeze", slow, "0", environment...) }
	startFreezing := func() *check {
		return startSections(t, binary, "freeze", slow, "0", append(lies, "LIAR_FREEZES=1")...)
	}
	honest, others, whole, lying := startHonest(), startOthers(), startWhole(), startLying()
	freeze, freezing := startFreeze(), startFreezing()

	t.Run("agrees", func(t *testing.T) {
		honest, printed, exit := retried(honest, agreed, startHonest)
		if exit != 0 || !strings.Contains(printed, ", 0 differ;") {
			t.Fatalf("exit code %d\n%s", exit, printed)
		}
		expectRows(t, printed, programRows)
		expectPrograms(t, honest.output)
	})
	t.Run("agrees about others", func(t *testing.T) {
		_, printed, exit := retried(others, agreed, startOthers)
		if exit != 0 || !strings.Contains(printed, ", 0 differ;") {
			t.Fatalf("exit code %d\n%s", exit, printed)
		}
		expectRows(t, printed, otherRows)
	})
	t.Run("agrees where the driver lists no processes", func(t *testing.T) {
		_, printed, exit := retried(whole, agreed, startWhole)
		if exit != 0 || !strings.Contains(printed, ", 0 differ;") || !strings.Contains(printed, "whole-GPU figures") {
			t.Fatalf("exit code %d\n%s", exit, printed)
		}
		expectRows(t, printed, [][2]string{
			{"pytorch", "other, by a context alone, MiB"}, {"native, flush", "freed, by the driver, MiB"},
		})
	})
	t.Run("agrees that nothing freezes", func(t *testing.T) {
		_, printed, exit := retried(freeze, agreed, startFreeze)
		if exit != 0 || !strings.Contains(printed, "1 figures agree, 0 differ;") {
			t.Fatalf("exit code %d\n%s", exit, printed)
		}
		expectRows(t, printed, [][2]string{standsStill})
	})
	t.Run("differs where a question freezes the program", func(t *testing.T) {
		caught := func(printed string, exit int) bool {
			return exit == 1 && len(missing(printed, "differs", [][2]string{standsStill})) == 0
		}
		if _, printed, exit := retried(freezing, caught, startFreezing); !caught(printed, exit) {
			t.Errorf("exit code %d\n%s", exit, printed)
		}
	})
	t.Run("differs", func(t *testing.T) {
		left := programLies
		caught := func(printed string, exit int) bool {
			left = missing(printed, "differs", left)
			return exit == 1 && len(left) == 0
		}
		_, printed, exit := retried(lying, caught, startLying)
		if exit != 1 || len(left) != 0 {
			t.Errorf("exit code %d, no row of %q differs in\n%s", exit, left, printed)
		}
	})
}

// standsStill is the row about a program that waits for the driver.
var standsStill = [2]string{"freeze", "a thread stands still, asked, ms"}

// programRows are some of the rows of the PyTorch sections.
var programRows = [][2]string{
	{"pytorch", "reserved, by memory_stats, MiB"}, {"pytorch", "fragmented, by the blocks, MiB"},
	{"pytorch", "other, by a context alone, MiB"}, {"pytorch, snapshot", "cached in the map, by returnable, MiB"},
	{"pytorch, flush gradual", "freed, by the driver, MiB"}, {"pytorch, flush urgent", "freed, by memory_stats, MiB"},
	{"pytorch", "fragmented, by what a flush left, MiB"}, {"expandable", "fragmented, by what a flush left, MiB"},
	{"expandable", "config"}, {"async", "fragmented, by what a flush left, MiB"}, {"async", "a snapshot"},
	{"async, pending", "allocated, by memory_stats, MiB"}, {"async, pending", "left after empty_cache, MiB"},
}

// otherRows are some of the rows about trainings, graphs, other libraries and
// native programs.
var otherRows = [][2]string{
	{"preloaded", "allocated, by memory_stats, MiB"}, {"preloaded", "other, MiB"}, {"preloaded", "rescues asked for"},
	{"training", "continues"}, {"graph", "a flush afterwards"}, {"graph", "the captured graph makes"},
	{"cupy", "allocated, by used_bytes, MiB"}, {"cupy", "freed, by the driver, MiB"}, {"jax", "reserved, by pool_bytes, MiB"},
	{"native", "raw, by its own sums, MiB"}, {"native", "other, by a context alone, MiB"},
	{"native, flush", "freed, by cuMemGetInfo, MiB"},
}

// programLies are rows that testdata/liar and testdata/lying falsify.
var programLies = [][2]string{
	{"pytorch", "reserved, by memory_stats, MiB"}, {"pytorch", "live blocks"}, {"pytorch", "cached, by the blocks, MiB"},
	{"pytorch", "allocated, in once, MiB"}, {"pytorch", "used, in once, MiB"},
	{"pytorch, flush gradual", "freed, by memory_stats, MiB"}, {"pytorch, flush urgent", "freed, by the driver, MiB"},
	{"pytorch, snapshot", "fragmented in the map, MiB"},
}

// expectPrograms checks the recorded figures of programs.
func expectPrograms(t *testing.T, directory string) {
	t.Helper()
	var result struct {
		Sections map[string]struct {
			Context int64 `json:"context_bytes"`
			Flushes []struct {
				Freed  int64 `json:"freed_bytes"`
				Driver int64 `json:"driver_freed_bytes"`
			}
		}
	}
	content, err := os.ReadFile(filepath.Join(directory, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &result); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pytorch", "expandable", "async"} {
		seen := result.Sections[name]
		if seen.Context != contextBytes || len(seen.Flushes) != 3 {
			t.Errorf("result.json of %s: %+v", name, seen)
		}
		for _, f := range seen.Flushes {
			if f.Freed == 0 || f.Freed != f.Driver {
				t.Errorf("a flush of %s: %+v", name, f)
			}
		}
	}
	var segments []struct {
		Size int64 `json:"total_size"`
	}
	fixture, err := os.ReadFile(filepath.Join(directory, "fixtures", "pytorch-segments.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(fixture, &segments); err != nil || len(segments) == 0 {
		t.Errorf("pytorch-segments.json: %v: %d segments", err, len(segments))
	}
}
