//go:build linux

package preload_test

import (
	"testing"

	"vramscope/probe/conformance"
)

// TestConformance runs with pools, which can be flushed, and without.
func TestConformance(t *testing.T) {
	for _, scenario := range []string{"pooled", "linear"} {
		t.Run(scenario, func(t *testing.T) {
			r := newBox(t).start(true, program(t, "dlsym"), "dlsym", scenario)
			conformance.Run(t, "../testdata/conformance", r.socket())
			r.end()
		})
	}
}
