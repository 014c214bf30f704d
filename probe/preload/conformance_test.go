//go:build linux

package preload_test

import (
	"testing"

	"vramscope/probe/probetest"
)

// TestConformance runs with pools, which can be flushed, and without.
func TestConformance(t *testing.T) {
	for _, scenario := range []string{"pooled", "linear"} {
		t.Run(scenario, func(t *testing.T) {
			r := newBox(t).start(true, program(t, "dlsym"), "dlsym", scenario)
			probetest.Run(t, "../testdata/conformance", r.socket())
			r.end()
		})
	}
}

// TestSquattedDirectoryDeniesNoProbe: /tmp/vramscope-<uid> exists, and the probe refuses it.
func TestSquattedDirectoryDeniesNoProbe(t *testing.T) {
	user, prefix := probetest.Squatted(t)
	b := newBox(t)
	b.user, b.environ = user, append(b.environ, "XDG_RUNTIME_DIR=")
	r := b.start(true, program(t, "dlsym"), "dlsym", "linear")
	probetest.Run(t, "../testdata/conformance", probetest.SpareSocket(t, prefix))
	r.end()
}
