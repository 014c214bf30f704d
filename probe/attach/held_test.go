//go:build linux

package attach

import (
	"strings"
	"testing"
)

// held is a program whose C code holds the GIL .9 s at a time. It has imported
// nothing of what the probe needs.
const held = `
import sys, time
n, took = 1000000, 0
while took < 0.05:
    n *= 2
    began = time.monotonic()
    sum(range(n))
    took = time.monotonic() - began
n = int(n * 0.9 / took)
sys.stdout.write("ready")
sys.stdout.flush()
while True:
    sum(range(n))
`

// TestAttachWhereCodeHoldsTheGIL: each wait for the GIL costs as long, so there must
// be few until the payload has begun, and the rest are waited for.
func TestAttachWhereCodeHoldsTheGIL(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	for version, python := range needGdb(t) {
		cmd, _ := startProgram(t, python, "-c", held)
		a := testAttacher()
		a.timeout = defaultTimeout
		result, err := examineAndEnter(t.Context(), a, identify(t, cmd.Process.Pid))
		for range 2 { // on a busy machine the program is not the only one that is waited for
			if err != nil && strings.Contains(err.Error(), "C code holds the interpreter") {
				result, err = examineAndEnter(t.Context(), a, identify(t, cmd.Process.Pid))
			}
		}
		if err != nil {
			t.Errorf("Python %s: %v", version, err)
		}
		t.Logf("Python %s: %v", version, result.Took)
		mustBeLeft(t, cmd.Process.Pid)
		return
	}
}
