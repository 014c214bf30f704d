//go:build linux

package attach

import (
	"errors"
	"testing"
)

// Where gdb cannot write registers, attaching fails and the program goes on:
// no system call of it returns an error that it does not know.
func TestGdbThatCannotWriteRegistersHarmsNothing(t *testing.T) {
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
