//go:build linux

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"vramscope/cli/command"
	"vramscope/internal/needs"
	"vramscope/probe"
	"vramscope/probe/agent"
	"vramscope/sampler/snapshot"
)

// pythonJob is a Python program with a probe, on the stand-in for PyTorch.
type pythonJob struct {
	*testing.T
	python  string
	pid     int
	environ []string
	said    *bytes.Buffer
	in      *os.File // the program executes each line that is written here
}

// startJob starts a program with allocated and fragmented memory, in this environment.
func startJob(t *testing.T, environ ...string) *pythonJob {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 8))").Run()
	}
	if err != nil {
		needs.Missing(t, "there is no Python 3.8 or newer")
	}
	directory, err := agent.Install(filepath.Join(t.TempDir(), "vramscope"))
	if err != nil {
		t.Fatal(err)
	}
	fake, err := filepath.Abs("../probe/agent/testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := os.MkdirTemp("", "vramscope-run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtime) }) // if that fails, it stays among the temporary files
	in, theirs, err := pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", "import sys, torch, vramscope_probe as v\nfor line in sys.stdin: exec(line)")
	j := &pythonJob{T: t, python: python, in: in, said: &bytes.Buffer{}}
	j.environ = append(os.Environ(), asVramscope+"=1", "LC_ALL=C.UTF-8", "XDG_RUNTIME_DIR="+runtime,
		"XDG_CONFIG_HOME="+t.TempDir(), "PYTHONPATH="+directory+":"+fake, "PYTHONDONTWRITEBYTECODE=1")
	j.environ = append(j.environ, environ...)
	cmd.Env, cmd.Stdin, cmd.Stderr = j.environ, theirs, j.said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close() // the job has a copy
	j.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = in.Close() // its end
		if err := cmd.Wait(); err != nil {
			t.Errorf("the job: %v\n%s", err, j.said)
		}
	})
	// The probe refuses no map, even on a slow machine, where a map holds the program up for long.
	j.do("v._MAP_MOST = v._MAP_SHARE = 1e9")
	j.do("import threading; gate = threading.Event(); gate.set()")
	j.do("kept = [torch.empty(n << 20, 1) for n in (1, 30, 3, 3, 50)]; del kept[2]")
	return j
}

// pipe returns a pipe with its writing end first.
func pipe() (write, read *os.File, err error) {
	read, write, err = os.Pipe()
	return write, read, err
}

// do makes the job execute a line, and waits until it has.
func (j *pythonJob) do(line string) {
	j.Helper()
	done := filepath.Join(j.TempDir(), "done")
	if _, err := fmt.Fprintf(j.in, "%s\nopen(%q, 'w').close()\n", line, done); err != nil {
		j.Fatal(err)
	}
	if !eventually(func() bool { _, err := os.Stat(done); return err == nil }) {
		j.Fatalf("the job does not get to %s", line)
	}
}

func (j *pythonJob) snapshot(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{"snapshot", strconv.Itoa(j.pid)}, args...)...)
	cmd.Env = j.environ
	return cmd
}

// await takes snapshots until one succeeds: a probe serves only after its program has begun to use
// a GPU.
func (j *pythonJob) await(args ...string) string {
	j.Helper()
	var out []byte
	var err error
	if !eventually(func() bool {
		out, err = j.snapshot(args...).CombinedOutput()
		return err == nil
	}) {
		j.Fatalf("no snapshot: %s", out)
	}
	return string(out)
}

func TestSnapshotOfAPythonProgram(t *testing.T) {
	t.Parallel()
	j := startJob(t)
	directory := t.TempDir()
	path := filepath.Join(directory, "it's.pickle")
	said := j.await("-o", path)
	for _, want := range []string{" to " + path + " (PID " + strconv.Itoa(j.pid) + ", PyTorch 2.6.0)\n", "https://pytorch.org/memory_viz"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	const look = `
import pickle, sys
whole = pickle.load(open(sys.argv[1], "rb"))
print(sorted(whole)[:3], sum(s["total_size"] for s in whole["segments"]) >> 20)`
	out, err := exec.Command(j.python, "-c", look, path).CombinedOutput()
	if want := "['allocator_settings', 'device_traces', 'segments'] 102\n"; err != nil || string(out) != want {
		t.Errorf("the pickle has %s%v, want %s", out, err, want)
	}

	// An existing file is not replaced without --force.
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err = j.snapshot("-o", path, "--format", "segments").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "exists already") {
		t.Errorf("another was written over it: %v\n%s", err, out)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("it has changed: %v", err)
	}
	j.await("-o", path, "--format", "segments", "--force")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	checkSegments(t, content)

	var aside bytes.Buffer
	eventually(func() bool { // on a busy machine the probe can be late
		aside.Reset()
		piped := j.snapshot("-o", "-", "--format", "segments")
		piped.Stderr = &aside
		content, err = piped.Output()
		return err == nil
	})
	if err != nil || !strings.Contains(aside.String(), " to stdout (PID ") {
		t.Errorf("%v\n%s", err, &aside)
	}
	checkSegments(t, content)
	left, err := os.ReadDir(directory)
	if err != nil || len(left) != 1 {
		t.Errorf("%v are left there, %v", left, err)
	}
}

// checkSegments checks the map of the job's memory.
func checkSegments(t *testing.T, content []byte) {
	t.Helper()
	var found probe.Segments
	if err := json.Unmarshal(content, &found); err != nil {
		t.Fatalf("%v\n%s", err, content)
	}
	sums := map[snapshot.BlockState]int64{}
	for _, s := range found.Devices[0].Segments {
		for _, b := range s.Blocks {
			sums[b.State] += int64(b.Size >> 20)
		}
	}
	if len(found.Devices) != 1 || sums[probe.BlockLive] != 84 || sums[probe.BlockFragmented] != 18 || len(sums) != 2 {
		t.Errorf("the map has %v MiB on %d devices", sums, len(found.Devices))
	}
}

// TestCancelledSnapshotLeavesNoFile: Ctrl-C comes while the probe writes.
func TestCancelledSnapshotLeavesNoFile(t *testing.T) {
	j := startJob(t)
	directory := t.TempDir()
	j.await("-o", filepath.Join(directory, "first"))
	j.do("write = v._SnapshotFile.write; gate.clear(); v._SnapshotFile.write = lambda self, content: gate.wait() and write(self, content)")
	cmd := j.snapshot("-o", filepath.Join(directory, "second"))
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Once the draft exists, the signal can come at any moment.
	if !eventually(func() bool { return len(names(t, directory)) == 2 }) {
		t.Fatal("it does not begin")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if cmd.ProcessState.ExitCode() != command.ExitFailure || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("it ended with %v: %s", err, &said)
	}
	if left := names(t, directory); len(left) != 1 {
		t.Errorf("%v are left", left)
	}
	j.do("gate.set()")
	j.await("-o", filepath.Join(directory, "third"))
}

func TestSnapshotOfAStoppedProcessIsRefused(t *testing.T) {
	t.Parallel()
	j := startJob(t)
	file := filepath.Join(t.TempDir(), "snapshot")
	j.await("-o", file)
	if err := syscall.Kill(j.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(j.pid, syscall.SIGCONT) }) // a stopped job cannot end
	if !eventually(func() bool { return stopped(t, j.pid) }) {
		t.Fatal("it does not stop")
	}
	var said []byte
	var err error
	if !eventually(func() bool { // on a busy machine the command can end without an answer
		cmd := j.snapshot("--force", "-o", file)
		said, err = cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode() == command.ExitRefused && strings.Contains(string(said), "does not answer: a stopped process cannot")
	}) {
		t.Fatalf("it ended with %v: %s", err, said)
	}
}

// stopped reports whether all threads of a process are stopped. After a SIGSTOP a thread can run on
// for a moment.
func stopped(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/stat"))
	if err != nil || len(threads) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	return !slices.ContainsFunc(threads, func(name string) bool {
		stat, _ := os.ReadFile(name) // a thread that has ended is not stopped: the next look does not find it
		_, state, _ := bytes.Cut(stat, []byte(") "))
		return !bytes.HasPrefix(state, []byte("T"))
	})
}

func names(t *testing.T, directory string) []string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}
