//go:build linux && cgo

package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"vramscope/internal/needs"
	"vramscope/internal/quantity"
	"vramscope/probe/agent"
)

// TestRunBecomesTheCommand: there is no process in between.
func TestRunBecomesTheCommand(t *testing.T) {
	run := func(script string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "run", "--", "sh", "-c", script)
		cmd.Env = append(os.Environ(), asVramscope+"=1", "XDG_CACHE_HOME="+t.TempDir())
		return cmd
	}
	cmd := run("echo $$; kill -TERM $$")
	out, err := cmd.Output()
	if err == nil {
		t.Error("it did not end by a signal")
	}
	if got := strings.TrimSpace(string(out)); got != strconv.Itoa(cmd.Process.Pid) {
		t.Errorf("the command is process %s, vramscope was %d", got, cmd.Process.Pid)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v, not by SIGTERM", cmd.ProcessState)
	}

	// The command has the terminal and its process group, so Ctrl-C reaches the command.
	cmd = run(`test -t 0 -a -t 1 -a -t 2 && trap 'echo caught; exit 5' INT && echo ready && read line`)
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = terminal.Close() }() // nothing is written any more
	if text := readUntil(t, terminal, "ready"); !strings.Contains(text, "ready") {
		t.Fatalf("it is on no terminal: %q", text)
	}
	if _, err := terminal.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	readUntil(t, terminal, "caught")
	_ = cmd.Wait() // its code is checked next
	if cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("after Ctrl-C it ended with %v", cmd.ProcessState)
	}
}

// TestRunKeepsIgnoredSignals: run keeps ignored signals and the limit of open files, which Go's runtime
// changes for itself.
func TestRunKeepsIgnoredSignals(t *testing.T) {
	const look = `grep -E "SigIgn|SigBlk" /proc/self/status; ulimit -Sn`
	shell := func(command string) string {
		cmd := exec.Command("sh", "-c", `ulimit -Sn 200; trap '' QUIT PIPE TERM INT USR1; `+command)
		cmd.Env = append(os.Environ(), asVramscope+"=1", "XDG_CACHE_HOME="+t.TempDir(), "VRAMSCOPE="+os.Args[0], "LOOK="+look)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	plain, run := shell(`sh -c "$LOOK"`), shell(`"$VRAMSCOPE" run -- sh -c "$LOOK"`)
	if plain != run || strings.Contains(plain, "SigIgn:\t0000000000000000") || !strings.Contains(plain, "200") {
		t.Errorf("without vramscope run:\n%swith it:\n%s", plain, run)
	}
}

func readUntil(t *testing.T, r io.Reader, word string) string {
	t.Helper()
	var all []byte
	buffer := make([]byte, 256)
	for !bytes.Contains(all, []byte(word)) {
		n, err := r.Read(buffer)
		all = append(all, buffer[:n]...)
		if err != nil {
			break // the other end is closed
		}
	}
	return string(all)
}

// runningJob is a program that runs until its standard input ends.
type runningJob struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.Reader
	said bytes.Buffer // to standard error
}

// begin starts a program and waits until it says that it is ready.
func begin(t *testing.T, cmd *exec.Cmd) *runningJob {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	job := &runningJob{cmd: cmd, in: in, out: out}
	cmd.Stderr = &job.said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if it has not ended by itself
	if text := readUntil(t, out, "ready"); !strings.Contains(text, "ready") {
		_ = cmd.Wait() // it has ended
		t.Fatalf("it is not ready: %q, %s", text, job.said.String())
	}
	return job
}

// end ends the program, and returns what Wait returns.
func (b *runningJob) end() error {
	_ = b.in.Close()                  // it may have ended by itself
	_, _ = io.Copy(io.Discard, b.out) // until its end
	return b.cmd.Wait()
}

// job is a training job on the stand-in for PyTorch, whose memory is the fake
// driver's: two thirds of it are cached when it waits.
const job = `
import sys, torch
torch.cuda.set_device(1)
live = [torch.empty(64 << 20, 1) for _ in range(9)]
del live[3:]
print("ready", flush=True)
sys.stdin.read()
live.clear()
`

// pythonWith returns a Python that the probe supports and that has these modules.
func pythonWith(t *testing.T, modules string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import "+modules+", sys; sys.exit(sys.version_info < (3, 8))").Run()
	}
	if err != nil {
		needs.Missing(t, "there is no Python 3.8 or newer with %s", modules)
	}
	return python
}

// TestRunShowsAndFlushesAPythonProgram goes through the whole loop, as in the README.
func TestRunShowsAndFlushesAPythonProgram(t *testing.T) {
	t.Parallel()
	python := pythonWith(t, "sys")
	b := newProbeBox(t, 2)
	fake, err := filepath.Abs("../probe/agent/testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "job.py")
	if err := os.WriteFile(script, []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	cmd := b.command("run", "--", python, script)
	cmd.Env = append(slices.Clone(b.environ), "XDG_CACHE_HOME="+cache, "PYTHONPATH="+fake, "FAKE_TORCH_DRIVER=1", "PYTHONDONTWRITEBYTECODE=1")
	job := begin(t, cmd)
	// run has installed the probe in the cache.
	if _, err := os.Stat(filepath.Join(cache, "vramscope", agent.Name(), "vramscope_probe.py")); err != nil {
		t.Error(err)
	}

	row := awaitRow(t, b, cmd.Process.Pid)
	const live, cached = 3 * 64 * quantity.MiB, 6 * 64 * quantity.MiB
	if row.Runtime != "PyTorch" || row.Allocated != live || row.Returnable != cached || row.Other <= 0 {
		t.Errorf("the row is %+v, want PyTorch with %d live, %d returnable, and a context", row, live, cached)
	}
	flushed := b.flush(cmd.Process.Pid)
	if after := awaitRow(t, b, cmd.Process.Pid); row.Used-after.Used != cached || after.Returnable != 0 || after.Allocated != live {
		t.Errorf("used fell by %d, by the probe %d were cached; now %+v\n%s", row.Used-after.Used, cached, after, flushed)
	}
	if err := job.end(); err != nil || job.said.Len() > 0 {
		t.Errorf("the job ended with %v\n%s", err, job.said.String())
	}
	if _, listed := b.used(cmd.Process.Pid); listed {
		t.Error("the driver lists it after its end")
	}
}

// jobRow is a process in the JSON.
type jobRow struct {
	PID        int
	Runtime    string
	Used       quantity.Bytes  `json:"used_bytes"`
	Allocated  quantity.Bytes  `json:"allocated_bytes"`
	Returnable quantity.Bytes  `json:"returnable_bytes"`
	Other      quantity.Bytes  `json:"other_bytes"`
	Probe      json.RawMessage `json:"probe"`
}

// awaitRow waits until vramscope shows a process with a probe that answers in time. On a loaded
// machine a probe is sometimes late.
func awaitRow(t *testing.T, b *probeBox, pid int) jobRow {
	t.Helper()
	var out []byte
	var found jobRow
	if !eventually(func() bool {
		var err error
		if out, err = b.command("once", "--format", "json").Output(); err != nil {
			t.Fatal(err)
		}
		var document struct {
			GPUs []struct{ Processes []jobRow }
		}
		if err := json.Unmarshal(out, &document); err != nil {
			t.Fatal(err)
		}
		for _, gpu := range document.GPUs {
			for _, row := range gpu.Processes {
				if row.PID == pid && bytes.Contains(row.Probe, []byte(`"live"`)) {
					found = row
				}
			}
		}
		return found.PID == pid
	}) {
		t.Fatalf("process %d never had a probe:\n%s", pid, out)
	}
	return found
}
