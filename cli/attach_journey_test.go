//go:build linux && cgo

package cli

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/internal/needs"
	"vramscope/internal/quantity"
)

// TestNativeProgramWithAProbeGetsNoAdvice: the advice would be vramscope run, which can have
// started the program.
func TestNativeProgramWithAProbeGetsNoAdvice(t *testing.T) {
	b := newProbeBox(t, 1)
	p := b.start()
	pid := strconv.Itoa(p.cmd.Process.Pid)
	var said []byte
	if !eventually(func() bool { // on a loaded machine the probe can be late
		said, _ = b.command("attach", pid, "--dry-run").CombinedOutput() // testdata/script checks the exit code
		return string(said) == "vramscope: refused: PID "+pid+": it has a probe already\n"
	}) {
		t.Errorf("it says %s", said)
	}
}

// TestAttachShowsAndFlushesAPythonProgram: a job that was started without a probe gets one, which
// reports and flushes its memory.
func TestAttachShowsAndFlushesAPythonProgram(t *testing.T) {
	python := needs.Tool(t, "python3")
	b := newProbeBox(t, 2)
	b.environ = append(b.environ, "XDG_STATE_HOME="+t.TempDir())
	fake, err := filepath.Abs("../probe/agent/testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", job)
	cmd.Env = append(slices.Clone(b.environ), "PYTHONPATH="+fake, "FAKE_TORCH_DRIVER=1", "PYTHONDONTWRITEBYTECODE=1")
	job := begin(t, cmd)
	pid := strconv.Itoa(cmd.Process.Pid)
	if out, err := b.command("attach", pid, "--dry-run").CombinedOutput(); err != nil {
		t.Skipf("this machine's Python can get no probe: %s", out)
	}
	var attached []byte
	for deadline := time.Now().Add(waitLimit); ; {
		// A loaded machine can need longer than attach waits.
		again := b.command("attach", pid, "--yes")
		if attached, err = again.CombinedOutput(); again.ProcessState.ExitCode() != command.ExitFailure ||
			cannotTrace(string(attached)) || time.Now().After(deadline) {
			break
		}
	}
	switch {
	case cannotTrace(string(attached)):
		t.Skipf("no process can be traced on this machine: %s", attached)
	case bytes.Contains(attached, []byte("it has a probe already")): // the probe came after the first try had given up
	case err != nil || !bytes.Contains(attached, []byte("; PyTorch 2.6.0\n")):
		t.Fatalf("%v\n%s", err, attached)
	}
	row := awaitRow(t, b, cmd.Process.Pid)
	const live, cached = 3 * 64 * quantity.MiB, 6 * 64 * quantity.MiB
	if row.Runtime != "PyTorch" || row.Allocated != live || row.Returnable != cached || row.Other <= 0 ||
		!bytes.Contains(row.Probe, []byte(`"started_by": "attach"`)) {
		t.Errorf("the row is %+v, %s", row, row.Probe)
	}
	flushed := b.flush(cmd.Process.Pid)
	if after := awaitRow(t, b, cmd.Process.Pid); row.Used-after.Used != cached {
		t.Errorf("used fell by %d, by the probe %d were cached\n%s", row.Used-after.Used, cached, flushed)
	}
	if err := job.end(); err != nil || job.said.Len() > 0 {
		t.Errorf("the job ended with %v\n%s", err, job.said.String())
	}
}
