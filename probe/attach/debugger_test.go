//go:build linux

package attach

import (
	"errors"
	"testing"
)

// TestGdbWithoutRegistersHarmsNothing: attaching fails where gdb cannot write
// registers, and no system call of the program returns an unexpected error.
func TestGdbWithoutRegistersHarmsNothing(t *testing.T) {
	for _, python := range needPythonAndGdb(t) {
		for _, name := range []string{"sleeping", "reading", "selecting"} {
			p := runTarget(t, python, name)
			a := testAttacher()
			if _, err := examineAndEnter(t.Context(), a, identify(t, p.pid())); err != nil && !errors.Is(err, errRegisters) {
				t.Errorf("%s: %v", name, err)
			}
			p.mustBeWell()
			p.mustEndWell()
		}
		return
	}
}
