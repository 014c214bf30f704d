package fakedriver_test

import (
	"testing"

	"vramscope/internal/fakedriver"
)

// A kernel can be launched while its module is loaded. The launch does nothing.
func TestModules(t *testing.T) {
	t.Parallel()
	const invalidHandle, notFound = "400", "500"
	_, program := startBoth(t, fakedriver.Box(1, 0))
	program.script("init", success, "load 0", invalidContext, "use 0", success)
	before := program.numbers("info")
	program.script(
		"kernel 0", invalidHandle, "run 1", invalidHandle, "unload 0", invalidHandle,
		"load 0", success, "kernel 0", success, "variable 0", notFound,
		"threads 0", "0 1024", "occupancy 1024", "0 2", "occupancy 1", "0 32", "occupancy 0", "1 -1",
		"run 1", success, "run 0", invalidValue, "runex 7", success, "runex 0", invalidValue,
		"stream 0 1", success, "capture 0 0", success, "load 0", captureUnsupported, "endcapture 0", captureInvalidated,
		"unload 0", success, "run 1", invalidHandle, "unload 0", invalidHandle,
	)
	if after := program.numbers("info"); after[1] != before[1] {
		t.Errorf("%d bytes are free, %d were", after[1], before[1])
	}
}
