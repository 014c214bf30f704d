//go:build linux

package attach

import (
	"errors"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
)

// needRemoteExec skips the test without Python 3.14.
func needRemoteExec(t *testing.T) string {
	t.Helper()
	if python := pythons()["3.14"]; python != "" {
		return python
	}
	t.Skip("no Python 3.14")
	return ""
}

func TestRemoteExec(t *testing.T) {
	python := needRemoteExec(t)
	for _, name := range busy {
		if name == "joined" || name == "locked" || name == "reading" {
			continue // the first thread, which must run the script, waits in C
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

// TestRemoteExecTimesOut: the first thread does not return to Python.
func TestRemoteExecTimesOut(t *testing.T) {
	t.Parallel()
	p := runTarget(t, needRemoteExec(t), "locked")
	a := testAttacher()
	a.timeout = 3 * time.Second
	_, err := examineAndEnter(t.Context(), a, identify(t, p.pid()))
	if err == nil || !strings.Contains(err.Error(), "its main thread did not return to Python") {
		t.Errorf("got %v", err)
	}
	p.mustBeWell()
	// When the first thread returns to Python, it finds nothing to run and prints nothing.
	p.mustEndWell()
}

func TestRemoteExecDisabledByEnvironment(t *testing.T) {
	t.Parallel()
	p := runTarget(t, needRemoteExec(t), "sleeping", "PYTHON_DISABLE_REMOTE_DEBUG=1")
	a := testAttacher()
	_, err := examineAndEnter(t.Context(), a, identify(t, p.pid()))
	var refusal *process.Refusal
	if !errors.As(err, &refusal) || refusal.Reason != "it was started with PYTHON_DISABLE_REMOTE_DEBUG" {
		t.Errorf("got %v", err)
	}
}

func TestVariable(t *testing.T) {
	f := bareFixture(t)
	f.write("PATHS=a\x00PATH=b=c\x00EMPTY=\x00", f.of("environ"))
	a := f.attacher()
	for name, want := range map[string]string{"PATH": "b=c", "EMPTY": "", "ATH": "", "HOME": ""} {
		if got := a.variable(t.Context(), fixturePID, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
