//go:build linux

package preload_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/quantity"
	"vramscope/probe"
)

// The ways in which a program finds libcuda's functions: linked; dlopen and dlsym; the two versions of
// cuGetProcAddress, which NVIDIA's runtime library uses; a library opened with RTLD_DEEPBIND. The ways
// with -ptsz use the per-thread default stream.
var ways = []string{"linked", "dlsym", "dlsym-ptsz", "proc1", "proc1-ptsz", "proc2", "proc2-ptsz", "deepbind"}

var scenarios = []string{
	"linear", "pooled", "captured", "capturing", "virtual", "teardown", "threads", "share", "fork-before", "fork-after", "exec",
}

// TestMatrix runs every scenario in every way, without the library and with it.
// The program's output must be equal, and the probe's stats equal to the driver's.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		for _, scenario := range scenarios {
			t.Run(way+"/"+scenario, func(t *testing.T) { compare(t, program(t, way), way, scenario, nil) })
		}
	}
}

// compare runs a program without the library and with it.
func compare(t *testing.T, program, way, scenario string, environ []string) {
	t.Helper()
	b := newBox(t)
	b.environ = append(b.environ, environ...)
	plain := b.start(false, program, way, scenario)
	plain.end()
	watched := b.startIn(append(slices.Clone(b.environ), preloading(b, environ)), program, way, scenario)
	if !slices.Equal(plain.out, watched.out) {
		t.Errorf("without the library:\n%s\nwith it:\n%s", strings.Join(plain.out, "\n"), strings.Join(watched.out, "\n"))
	}
	checkStats(t, watched)
	socket := watched.socket()
	watched.end()
	if exists(socket) {
		t.Errorf("%s remains after exit", socket)
	}
}

// preloading appends the library to what is already preloaded, and returns the variable.
func preloading(b *box, environ []string) string {
	before := ""
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, "LD_PRELOAD="); ok {
			before = value + ":"
		}
	}
	return "LD_PRELOAD=" + before + b.library
}

// checkStats compares the probe's report with the fake driver's stats.
func checkStats(t *testing.T, r *run) {
	t.Helper()
	report := r.report()
	uuids := fakedriver.Box(4, 0)
	for _, want := range r.driverStats() {
		var raw, used, reserved, graphs quantity.Bytes
		var blocks int64
		managed, config := quantity.Bytes(0), ""
		for i := range report.Devices {
			if report.Devices[i].UUID != uuids.GPUs[want.device].UUID {
				continue
			}
			for _, a := range report.Devices[i].Allocators {
				switch a.Kind {
				case "raw":
					raw += a.Allocated.Or(0)
					blocks += a.Segments.Or(0)
					config = a.Config
					if a.Managed.Known() {
						managed = a.Managed.Or(0)
					}
				case "cuda_pool":
					used += a.Allocated.Or(0)
					reserved += a.Reserved.Or(0)
				case "cuda_graph":
					graphs += a.Reserved.Or(0)
				}
			}
		}
		got := fmt.Sprintf("raw %d in %d, managed %d, pools %d of %d, graphs %d", raw, blocks, managed, used, reserved, graphs)
		expected := fmt.Sprintf("raw %d in %d, managed %d, pools %d of %d, graphs %d", want.linear+want.physical,
			want.linearCount+want.physicalCount, want.managed, want.poolsUsed, want.poolsReserved, want.graphsReserved)
		if got != expected {
			t.Errorf("device %d by the probe: %s; by the driver: %s\n%+v", want.device, got, expected, report)
		}
		uncounted := ""
		if want.importedCount > 0 {
			uncounted = fmt.Sprintf("not counted: %d of other processes", want.importedCount)
		}
		if config != uncounted {
			t.Errorf("device %d: config %q, want %q", want.device, config, uncounted)
		}
	}
}

// allocators returns the allocators of a kind, on all devices.
func allocators(report probe.Report, kind string) []probe.Allocator {
	var found []probe.Allocator
	for i := range report.Devices {
		for _, a := range report.Devices[i].Allocators {
			if a.Kind == kind {
				found = append(found, a)
			}
		}
	}
	return found
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
