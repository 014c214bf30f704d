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

// The ways in which a program comes to libcuda's functions: linked; dlopen and
// dlsym; cuGetProcAddress in both versions, as NVIDIA's runtime library asks;
// each with the default stream of the thread, too; a library opened with
// RTLD_DEEPBIND.
var ways = []string{"linked", "dlsym", "dlsym-ptsz", "proc1", "proc1-ptsz", "proc2", "proc2-ptsz", "deepbind"}

var scenarios = []string{
	"linear", "pooled", "captured", "capturing", "virtual", "teardown", "threads", "share", "fork-before", "fork-after", "exec",
}

// TestMatrix plays every scenario in every way, without the library and with
// it: the program sees the same, and the probe's books are the driver's own to
// the byte.
func TestMatrix(t *testing.T) {
	for _, way := range ways {
		for _, scenario := range scenarios {
			t.Run(way+"/"+scenario, func(t *testing.T) { compare(t, program(t, way), way, scenario, nil) })
		}
	}
}

// compare runs a program twice.
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
	checkBooks(t, watched)
	socket := watched.socket()
	watched.end()
	if exists(socket) {
		t.Errorf("%s is still there after its end", socket)
	}
}

// preloading adds the library behind what is preloaded already.
func preloading(b *box, environ []string) string {
	before := ""
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, "LD_PRELOAD="); ok {
			before = value + ":"
		}
	}
	return "LD_PRELOAD=" + before + b.library
}

// checkBooks compares the probe's report with the driver's books.
func checkBooks(t *testing.T, r *run) {
	t.Helper()
	report := r.report()
	uuids := fakedriver.Box(4, 0)
	for _, want := range r.books() {
		var raw, used, reserved, graphs quantity.Bytes
		var blocks int64
		config := ""
		for i := range report.Devices {
			if report.Devices[i].UUID != uuids.GPUs[want.device].UUID {
				continue
			}
			for _, a := range report.Devices[i].Allocators {
				switch a.Kind {
				case "raw":
					raw += *a.AllocatedBytes
					blocks += *a.Segments
					config = a.Config
				case "cuda_pool":
					used += *a.AllocatedBytes
					reserved += *a.ReservedBytes
				case "cuda_graph":
					graphs += *a.ReservedBytes
				}
			}
		}
		got := fmt.Sprintf("raw %d in %d, pools %d of %d, graphs %d", raw, blocks, used, reserved, graphs)
		expected := fmt.Sprintf("raw %d in %d, pools %d of %d, graphs %d", want.linear+want.physical,
			want.linearCount+want.physicalCount, want.poolsUsed, want.poolsReserved, want.graphsReserved)
		if got != expected {
			t.Errorf("device %d by the probe: %s; by the driver: %s\n%+v", want.device, got, expected, report)
		}
		uncounted := ""
		if want.managedCount+want.importedCount > 0 {
			uncounted = fmt.Sprintf("not counted: %d managed with %d bytes, %d of other processes", want.managedCount, want.managed, want.importedCount)
		}
		if config != uncounted {
			t.Errorf("device %d: %q is said of what is not counted, want %q", want.device, config, uncounted)
		}
	}
}

// allocators are those of a kind, of all devices.
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
