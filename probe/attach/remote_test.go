//go:build linux

package attach

import (
	"errors"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
)

// needRemoteExec skips where there is no Python 3.14.
func needRemoteExec(t *testing.T) string {
	t.Helper()
	if python := pythons(t, 14)["3.14"]; python != "" {
		return python
	}
	t.Skip("there is no Python 3.14")
	return ""
}

// TestPythonRunsTheProbeItself by sys.remote_exec.
func TestPythonRunsTheProbeItself(t *testing.T) {
	python := needRemoteExec(t)
	for _, name := range busy {
		if name == "joined" || name == "locked" || name == "reading" {
			continue // the first thread, which would have to run it, waits in C
		}
		t.Run(name, func(t *testing.T) {
			p := runTarget(t, python, name)
			a := testAttacher()
			result, err := examineAndEnter(t.Context(), a, identify(t, p.pid()))
			if err != nil || result.Method != RemoteExec || result.Hello.StartedBy != "attach" {
				t.Errorf("%+v, %v", result, err)
			}
			p.mustBeWell()
			p.mustEndWell()
		})
	}
}

// TestRemoteExecThatNobodyRuns: the first thread does not come back to Python.
func TestRemoteExecThatNobodyRuns(t *testing.T) {
	t.Parallel()
	p := runTarget(t, needRemoteExec(t), "locked")
	a := testAttacher()
	a.patience = 3 * time.Second
	_, err := examineAndEnter(t.Context(), a, identify(t, p.pid()))
	if err == nil || !strings.Contains(err.Error(), "its main thread did not come back to Python") {
		t.Errorf("it says %v", err)
	}
	p.mustBeWell()
	// When it does come back, there is nothing to run, and nobody is told of it.
	p.mustEndWell()
}

// TestRemoteExecIsTurnedOff by how the process was started.
func TestRemoteExecIsTurnedOff(t *testing.T) {
	t.Parallel()
	p := runTarget(t, needRemoteExec(t), "sleeping", "PYTHON_DISABLE_REMOTE_DEBUG=1")
	a := testAttacher()
	_, err := examineAndEnter(t.Context(), a, identify(t, p.pid()))
	var refusal *process.Refusal
	if !errors.As(err, &refusal) || refusal.Reason != "it was started with PYTHON_DISABLE_REMOTE_DEBUG" {
		t.Errorf("it says %v", err)
	}
}
