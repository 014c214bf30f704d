//go:build linux

package preload_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkHook measures what the library adds to an allocation and a free, in CPU
// time of the calling thread, with a libcuda whose calls cost nothing.
//
//	go test -run '^$' -bench Hook ./probe/preload
func BenchmarkHook(b *testing.B) {
	w := workshop(b)
	nothing := filepath.Join(w.directory, "nothing")
	if err := os.MkdirAll(nothing, 0o700); err != nil {
		b.Fatal(err)
	}
	build(b, filepath.Join("nothing", "libcuda.so.1"), []string{"testdata/nothing.c"}, "-O2", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
	cost := build(b, "cost", []string{"testdata/cost.c"}, "-O2", filepath.Join(nothing, "libcuda.so.1"))
	measure := func(preloaded bool, calls, threads, live int) float64 {
		cmd := exec.Command(cost, strconv.Itoa(calls), strconv.Itoa(threads), strconv.Itoa(live))
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+nothing, "XDG_RUNTIME_DIR="+w.directory)
		if preloaded {
			cmd.Env = append(cmd.Env, "LD_PRELOAD="+w.library)
		}
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		ns, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			b.Fatal(err)
		}
		return ns
	}
	for _, c := range []struct{ threads, live int }{{1, 0}, {1, 10_000}, {1, 100_000}, {1, 300_000}, {1, 1_000_000}, {2, 10_000}, {8, 10_000}, {8, 125_000}} {
		b.Run(fmt.Sprintf("threads=%d,live=%d", c.threads, c.live), func(b *testing.B) {
			calls := max(b.N, 1<<20)
			plain, watched := measure(false, calls, c.threads, c.live), measure(true, calls, c.threads, c.live)
			b.ReportMetric(watched-plain, "ns/call")
			b.ReportMetric(0, "ns/op") // it would include the process's start
		})
	}
}

func TestLargeMemoryIsAlignedToHugePages(t *testing.T) {
	out, err := exec.Command(build(t, "pages", []string{"testdata/pages.c", "shim/pages.c"})).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
