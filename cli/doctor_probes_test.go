//go:build linux && cgo

package cli

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

// doctorSays is doctor's report; its exit code is not looked at.
func (b *probeBox) doctorSays(environ ...string) string {
	cmd := b.command("doctor")
	cmd.Env = append(slices.Clone(cmd.Env), environ...)
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		b.Fatal(err)
	}
	return string(out)
}

func TestDoctorTellsOfProbes(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	wants := func(report, want string) {
		t.Helper()
		if !strings.Contains(report, want) {
			t.Errorf("no %q in\n%s", want, report)
		}
	}
	wants(b.doctorSays(), "none answers")
	p := b.start()
	wants(b.doctorSays(), "1 process answers")
	// Without a driver what a probe tells is there, and the monitor would work.
	alone := b.doctorSays("LD_LIBRARY_PATH=")
	wants(alone, "told by probes alone, 79.6G")
	wants(alone, "1 process answers")
	if strings.Contains(alone, "gpu-reset") {
		t.Errorf("a GPU that nobody has seen is to be reset:\n%s", alone)
	}
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wants(b.doctorSays(), "1 with a probe that does not answer")
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
