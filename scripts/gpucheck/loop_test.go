//go:build linux && cgo

package gpucheck

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// TestGPUCheckClosedLoop runs every pattern and every flush. The runs mostly wait,
// so they run in parallel.
func TestGPUCheckClosedLoop(t *testing.T) {
	needs.Full(t)
	t.Parallel()
	needs.Tool(t, "python3")
	binary := needs.Vramscope(t)
	liar, err := filepath.Abs("testdata/liar")
	if err != nil {
		t.Fatal(err)
	}
	unlisted := fakedriver.Box(1, 0)
	unlisted.GPUs[0].Fail("nvmlDeviceGetComputeRunningProcesses*", fakedriver.NotSupported)

	const seconds = "3"
	startHonest := func() *check { return startCheck(t, binary, fakedriver.Box(2, 2), seconds) }
	startLying := func() *check { return startCheck(t, liar, fakedriver.Box(1, 0), seconds, "LIAR_REAL="+binary) }
	startWhole := func() *check { return startCheck(t, binary, unlisted, seconds) }
	honest, lying, whole := startHonest(), startLying(), startWhole()
	interrupted := startCheck(t, binary, fakedriver.Box(1, 0), seconds)

	t.Run("ends what it has started when interrupted", func(t *testing.T) { expectInterrupted(t, interrupted) })
	t.Run("agrees", func(t *testing.T) {
		honest, printed, exit := retried(honest, agreed, startHonest)
		if exit != 0 || !strings.Contains(printed, ", 0 differ;") {
			t.Fatalf("exit code %d\n%s", exit, printed)
		}
		expectRows(t, printed, checkedRows)
		expectLoop(t, honest.output)
	})
	t.Run("agrees where the driver lists no processes", func(t *testing.T) {
		_, printed, exit := retried(whole, agreed, startWhole)
		if exit != 0 || !strings.Contains(printed, ", 0 differ;") || !strings.Contains(printed, "whole-GPU figures") {
			t.Fatalf("exit code %d\n%s", exit, printed)
		}
		expectRows(t, printed, [][2]string{
			{"pattern sawtooth", "other, by a context's cost, MiB"}, {"flush urgent", "freed, by the driver, MiB"},
		})
	})
	t.Run("differs", func(t *testing.T) {
		// On a loaded machine one run may miss a lie. A few runs together find all lies.
		left := falsifiedRows
		caught := func(printed string, exit int) bool {
			left = missing(printed, "differs", left)
			return exit == 1 && len(left) == 0
		}
		_, printed, exit := retried(lying, caught, startLying)
		if exit != 1 {
			t.Errorf("exit code %d", exit)
		}
		for _, row := range missing(printed, "differs", left) {
			t.Errorf("no row %q, %q differs", row[0], row[1])
		}
		if t.Failed() {
			t.Log(printed)
		}
	})
}

// checkedRows are some of the rows about patterns and flushes.
var checkedRows = [][2]string{
	{"pattern steady", "reserved, MiB"}, {"pattern sawtooth", "other, by a context's cost, MiB"},
	{"pattern leak", "used, MiB"}, {"pattern staircase", "used, by nvidia-smi, MiB"},
	{"pattern fragment", "memory freed after exit, ms"},
	{"flush gradual", "freed, by the driver, MiB"}, {"flush selective", "freed, by nvidia-smi, MiB"},
	{"flush urgent", "a dry run leaves reserved, MiB"}, {"flush of a sawtooth", "the driver shows it, ms"},
	{"flush of fragment", "fragmented after, MiB"}, {"flush of fragment", "freed by a second flush, MiB"},
}

// falsifiedRows are rows that testdata/liar falsifies. The pattern leak is left out: on a loaded
// machine it grows by more than the lie between two looks, or has filled the GPU.
var falsifiedRows = [][2]string{
	{"allocation of 1024 MiB", "grows by, MiB"},
	{"pattern sawtooth", "reserved, MiB"}, {"pattern steady", "cached, MiB"},
	{"pattern steady", "used, MiB"}, {"pattern sawtooth", "used, by nvidia-smi, MiB"},
	{"pattern fragment", "allocated, MiB"},
	{"flush gradual", "freed, by the driver, MiB"}, {"flush urgent", "freed, by reserved, MiB"},
	{"flush urgent", "freed, by nvidia-smi, MiB"}, {"flush urgent", "freed, by the driver in flush, MiB"},
	{"flush of fragment", "every other block is freed"},
}

// expectRows requires rows with the verdict ok.
func expectRows(t *testing.T, printed string, rows [][2]string) {
	t.Helper()
	for _, row := range missing(printed, "ok", rows) {
		t.Errorf("no row %q, %q with the verdict ok in\n%s", row[0], row[1], printed)
	}
}

// missing returns the rows that the table does not have with this verdict.
func missing(printed, verdict string, rows [][2]string) (left [][2]string) {
	for _, row := range rows {
		found := false
		for line := range strings.Lines(printed) {
			where, rest, _ := strings.Cut(line, "  ")
			what, _, _ := strings.Cut(strings.TrimLeft(rest, " "), "  ")
			found = found || where == row[0] && what == row[1] && strings.HasSuffix(line, "  "+verdict+"\n")
		}
		if !found {
			left = append(left, row)
		}
	}
	return left
}

// expectLoop checks the recorded figures of patterns and flushes.
func expectLoop(t *testing.T, directory string) {
	t.Helper()
	var result struct {
		ClosedLoop struct {
			Size     int64 `json:"size_bytes"`
			Chunk    int64 `json:"pool_chunk_bytes"`
			Patterns map[string]struct {
				Samples  int
				Reserved [2]int64 `json:"reserved_bytes"`
				Other    [2]int64 `json:"other_bytes"`
			}
			Flushes []struct {
				Level       string
				Freed       int64    `json:"freed_bytes"`
				DriverFreed int64    `json:"driver_freed_bytes"`
				Shown       *float64 `json:"driver_shows_ms"`
			}
		} `json:"closed_loop"`
	}
	content, err := os.ReadFile(filepath.Join(directory, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &result); err != nil {
		t.Fatal(err)
	}
	loop := result.ClosedLoop
	if loop.Size != 4<<30 || loop.Chunk != 32<<20 || len(loop.Patterns) != 5 || len(loop.Flushes) != 5 {
		t.Fatalf("result.json: %+v", loop)
	}
	samples := 0
	for name, p := range loop.Patterns {
		samples += p.Samples
		if p.Reserved[1] > loop.Size || p.Other != [2]int64{contextBytes, contextBytes} {
			t.Errorf("pattern %s: %+v", name, p)
		}
	}
	for _, f := range loop.Flushes {
		if f.Freed != f.DriverFreed || (f.Freed > 0) != (f.Shown != nil) {
			t.Errorf("flush: %+v", f)
		}
	}
	table, err := os.ReadFile(filepath.Join(directory, "samples.csv"))
	if err != nil || strings.Count(string(table), "\n") != samples+1 {
		t.Errorf("samples.csv: %v, want %d samples in\n%s", err, samples, table)
	}
	pages, err := filepath.Glob(filepath.Join(directory, "*-nvidia-h100-80gb-hbm3.md"))
	if err != nil || len(pages) != 1 {
		t.Fatalf("the page: %v %v", pages, err)
	}
	page, err := os.ReadFile(pages[0])
	if err != nil || !strings.Contains(string(page), "| vramscope flush | gradual | steady | 4096 | 3936 | 160 | 160 |") {
		t.Errorf("%s: %v\n%s", pages[0], err, page)
	}
}

// expectInterrupted terminates a run during a pattern.
func expectInterrupted(t *testing.T, c *check) {
	t.Helper()
	pid := 0
	for deadline := time.Now().Add(5 * time.Minute); pid == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no pattern has started")
		}
		sockets, err := filepath.Glob(filepath.Join(c.own, "gpu-check-*", "vramscope", "*.sock"))
		if err != nil {
			t.Fatal(err)
		}
		if len(sockets) == 1 {
			name, _, _ := strings.Cut(filepath.Base(sockets[0]), "-")
			if pid, err = strconv.Atoi(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	printed, exit := c.end()
	if exit != 128+int(syscall.SIGTERM) || strings.Contains(printed, "Traceback") {
		t.Errorf("exit code %d\n%s", exit, printed)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the probe process %d still runs: %v", pid, err)
	}
	left, err := os.ReadDir(c.own)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
