//go:build linux

package preload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
)

// Return codes of calls that fail: unknown, out of memory, not ready, deinitialized.
var failures = []int{999, 2, 600, 4}

// TestEachCallFailsOnce: each call of the program fails in turn. The program gets the same results
// with the library as without it, and the probe's stats, if it serves, equal the driver's.
func TestEachCallFailsOnce(t *testing.T) {
	t.Parallel()
	for _, scenario := range []string{"linear", "pooled", "captured", "capturing", "virtual", "teardown", "idle-pools", "unseen"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			play := func(preloaded bool, failing, code int) *run {
				environ := append(slices.Clone(b.environ), fmt.Sprintf("VRAMSCOPE_FAKE_FAIL=%d %d", failing, code))
				if preloaded {
					environ = append(environ, "LD_PRELOAD="+b.library)
				}
				return b.startIn(environ, program(t, "dlsym"), "dlsym", scenario)
			}
			plain := play(false, 0, 0)
			plain.end()
			calls := plain.calls()
			for failing := 1; failing <= calls; failing++ {
				code := failures[failing%len(failures)]
				plain, watched := play(false, failing, code), play(true, failing, code)
				if !slices.Equal(plain.out, watched.out) {
					t.Errorf("call %d fails with %d: without the library:\n%s\nwith it:\n%s", failing, code, strings.Join(plain.out, "\n"), strings.Join(watched.out, "\n"))
				}
				if slices.ContainsFunc(plain.out, madeSomething) {
					checkStats(t, watched)
				}
				plain.end()
				watched.end()
				if t.Failed() {
					t.Fatalf("call %d fails with %d: %q", failing, code, plain.out)
				}
			}
		})
	}
}

// calls returns how many calls of the driver the program has made.
func (r *run) calls() (count int) {
	r.Helper()
	for _, line := range r.out {
		if _, err := fmt.Sscanf(line, "calls %d", &count); err == nil {
			return count
		}
	}
	r.Fatalf("no count of calls in %q", r.out)
	return 0
}

// madeSomething recognises a call after which the library serves.
func madeSomething(line string) bool {
	return slices.Contains([]string{"retain 0", "create 0", "alloc 0", "async 0", "pool 0"}, line)
}

// TestOwnCallsFail: each of the library's own calls fails in turn. The library still answers, and
// later its stats equal the driver's.
func TestOwnCallsFail(t *testing.T) {
	for _, call := range []string{
		"cuDeviceGetCount", "cuDevicePrimaryCtxGetState", "cuDeviceGetUuid", "cuDeviceGetUuid_v2", "cuDeviceTotalMem_v2",
		"cuDriverGetVersion", "cuPointerGetAttribute", "cuDeviceGetDefaultMemPool", "cuMemPoolGetAttribute",
		"cuDeviceGetGraphMemAttribute", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuCtxSetCurrent",
		"cuCtxSynchronize", "cuMemPoolTrimTo", "cuDeviceGraphMemTrim", "cuThreadExchangeStreamCaptureMode", "cu*",
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			r := b.start(true, program(t, "dlsym"), "dlsym", "captured")
			state := fakedriver.Box(4, 0)
			for _, code := range failures {
				state.Fail(call, fakedriver.Return(code))
				state.MustWrite(t, b.state)
				for _, request := range []string{
					`{"id":1,"cmd":"stats"}`, `{"id":2,"cmd":"hello"}`, `{"id":3,"cmd":"flush","level":"gradual","dry_run":true}`,
					`{"id":4,"cmd":"flush","level":"urgent"}`,
				} {
					var answer struct{ ID int }
					r.ask(request, &answer)
					if answer.ID == 0 {
						t.Errorf("%s fails with %d: no answer to %s", call, code, request)
					}
				}
				state.Heal()
			}
			state.MustWrite(t, b.state)
			r.again()
			checkStats(t, r)
			r.end()
		})
	}
}
