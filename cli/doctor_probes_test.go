//go:build linux && cgo

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// doctorSays returns doctor's report; its exit code is ignored.
func (b *probeBox) doctorSays(environ ...string) string {
	cmd := b.command("doctor")
	cmd.Env = append(slices.Clone(cmd.Env), environ...)
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		b.Fatal(err)
	}
	return string(out)
}

func TestDoctorReportsProbes(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	wants := func(report, want string) {
		t.Helper()
		if !strings.Contains(report, want) {
			t.Errorf("no %q in\n%s", want, report)
		}
	}
	wants(b.doctorSays(), "no process has one")
	p := b.start()
	// On a loaded machine the probe can be late.
	report := ""
	eventually(func() bool {
		report = b.doctorSays()
		return strings.Contains(report, "1 process has one that answers")
	})
	wants(report, "1 process has one that answers")
	// Without a driver doctor reports the probe, and the GPU by the probe's data.
	alone := ""
	eventually(func() bool {
		alone = b.doctorSays("LD_LIBRARY_PATH=")
		return strings.Contains(alone, "1 process has one that answers")
	})
	wants(alone, "probe data only, 79.6G")
	wants(alone, "1 process has one that answers")
	if strings.Contains(alone, "gpu-reset") {
		t.Errorf("a GPU known from probes alone is to be reset:\n%s", alone)
	}
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitUntilStopped(t, p.cmd.Process.Pid)
	wants(b.doctorSays(), "1 with a probe that does not answer")
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// waitUntilStopped waits until no thread of a process runs: kill returns before the signal has
// stopped all threads, and a thread that still runs can answer.
func waitUntilStopped(t *testing.T, pid int) {
	t.Helper()
	if !eventually(func() bool {
		running := false
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range threads {
			stat, err := os.ReadFile(thread)
			// The state follows the name, which ends at the last parenthesis.
			after := stat[bytes.LastIndexByte(stat, ')')+1:]
			running = running || err == nil && !bytes.HasPrefix(after, []byte(" T"))
		}
		return len(threads) > 0 && !running
	}) {
		t.Fatal("the process has not stopped")
	}
}
