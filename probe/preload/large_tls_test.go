//go:build linux

package preload_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestLargeThreadLocalVariables: glibc places them on every thread's stack, also
// that of the library's thread, which needs enough besides.
func TestLargeThreadLocalVariables(t *testing.T) {
	for _, kib := range []int{498, 4000} {
		t.Run(fmt.Sprintf("%d KiB", kib), func(t *testing.T) {
			program := build(t, fmt.Sprintf("large-tls-%d", kib), append(slices.Clone(programSources), "testdata/large_tls.c"),
				fmt.Sprintf("-DLARGE_TLS=%d", kib))
			compare(t, program, "dlsym", "linear", nil)
		})
	}
}
