//go:build linux

package attach

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// startProgram starts a program that prints "ready". resume writes a line to the program.
func startProgram(t *testing.T, program string, args ...string) (cmd *exec.Cmd, resume func()) {
	t.Helper()
	cmd = exec.Command(program, args...)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have exited
		_ = cmd.Wait()         // its error does not matter
	})
	line := make([]byte, 5)
	if _, err := output.Read(line); err != nil || string(line) != "ready" {
		t.Fatalf("it prints %q, %v", line, err)
	}
	return cmd, func() {
		if _, err := input.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
}

// mustBeLeft checks that a process is neither traced nor stopped, and has not exited.
func mustBeLeft(t *testing.T, pid int) {
	t.Helper()
	state, err := readStatus(t.Context(), "/proc", strconv.Itoa(pid))
	if err != nil || state.tracer != 0 || strings.ContainsRune("tTZX", rune(state.state)) {
		t.Errorf("it is in state %c, traced by %d, %v", state.state, state.tracer, err)
	}
}

// TestExecAfterExamineIsDetected: exec keeps the pid and the start time.
func TestExecAfterExamineIsDetected(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	sleep := needs.Tool(t, "sleep")
	for _, python := range needGdb(t) {
		cmd, resume := startProgram(t, python, "-c",
			"import os, sys; os.write(1, b'ready'); sys.stdin.readline(); os.execv(sys.argv[1], ['sleep', '3600'])", sleep)
		a := testAttacher()
		pid := strconv.Itoa(cmd.Process.Pid)
		plan := a.Examine(t.Context(), identify(t, cmd.Process.Pid))
		if !plan.Possible() {
			t.Fatal(plan.Refusal())
		}
		d, err := startDebugger(plan.gdb, t.TempDir(), waitTime)
		if err != nil {
			t.Fatal(err)
		}
		in := &injection{debugger: d, attacher: a, plan: &plan, dir: filepath.Join("/proc", pid)}
		if _, err := d.execute(settings...); err != nil {
			t.Fatal(err)
		}
		resume()
		until(t, "it to be another program", func() bool {
			name, err := os.ReadFile(filepath.Join(in.dir, "comm"))
			return err == nil && string(name) == "sleep\n"
		})
		done, _, err := in.tryOnce()
		if done || err == nil {
			t.Errorf("tryOnce: %v, %v", done, err)
		}
		if err := d.leave(); err != nil {
			t.Error(err)
		}
		mustBeLeft(t, cmd.Process.Pid)
		return
	}
}

// TestUninitialisedPythonIsLeftAlone: asking for the GIL would crash a program that has loaded
// Python's library but not initialised it.
func TestUninitialisedPythonIsLeftAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	compiler := needs.Tool(t, "cc")
	const code = `#include <dlfcn.h>
#include <poll.h>
#include <unistd.h>
int main(int argc, char **argv) {
	if (!dlopen(argv[argc - 1], RTLD_NOW | RTLD_GLOBAL)) return 1;
	if (write(1, "ready", 5) != 5) return 1;
	for (;;) poll(0, 0, 1000);
}`
	for _, python := range needGdb(t) {
		library := sharedLibrary(python)
		if library == "" {
			continue
		}
		program := filepath.Join(t.TempDir(), "host")
		build := exec.Command(compiler, "-x", "c", "-o", program, "-", "-ldl")
		build.Stdin = strings.NewReader(code)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		cmd, _ := startProgram(t, program, library)
		a := testAttacher()
		_, err := examineAndEnter(t.Context(), a, identify(t, cmd.Process.Pid))
		if err == nil || !strings.Contains(err.Error(), "its Python is starting or ending") {
			t.Errorf("got %v", err)
		}
		mustBeLeft(t, cmd.Process.Pid)
		return
	}
	t.Skip("no Python here is a shared library")
}

// sharedLibrary returns the shared library of a Python, or "".
func sharedLibrary(python string) string {
	out, err := exec.Command(python, "-c", `import os, sysconfig
print(os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or ""))`).Output()
	path := strings.TrimSpace(string(out))
	if err != nil || !strings.Contains(filepath.Base(path), ".so") {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

func TestNumberOfThread(t *testing.T) {
	const output = `Attaching to process 123
[New LWP 124]
(gdb) Thread 1 has target id 'LWP 123'
Thread 1 has name 'python3'
Thread 2 has name 'Thread 7 has target id 'LWP 125''
Thread 2 has target id 'Thread 0x7f11 (LWP 124)'
Thread 3 has target id 'LWP 125'
(gdb) (gdb) Thread 4 has target id 'process 126'
`
	for id, want := range map[int]string{123: "1", 124: "2", 125: "3", 126: "4", 12: "", 127: ""} {
		if got := numberOf(thread{id: id}, output); got != want {
			t.Errorf("%d: %q, want %q", id, got, want)
		}
	}
}

func TestComplaint(t *testing.T) {
	for output, want := range map[string]string{
		"(gdb) Attaching to process 1\nwarning: x\nptrace: Operation not permitted.\n(gdb) No threads match '.'\n": "ptrace: Operation not permitted.",
		"(gdb) (gdb) Cannot access memory at address 0x0\n(gdb) \n":                                                "Cannot access memory at address 0x0",
		"": "gdb gives no reason",
	} {
		if got := complaint(output); got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}

func TestImage(t *testing.T) {
	functions := map[string]function{
		"PyGILState_Ensure": {address: 1}, "PyGILState_Release": {address: 2}, "PyRun_SimpleString": {address: 3},
		"pthread_create": {address: 5}, "pthread_detach": {address: 6},
	}
	for architecture, code := range stubs {
		content, err := image(architecture, functions, 0x7000, "text")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(content, code) || !bytes.HasPrefix(content[starterAt:], starters[architecture]) || !bytes.HasSuffix(content, []byte("text\x00")) {
			t.Errorf("%s: %q", architecture, content)
		}
		for i, want := range []uint64{1, 2, 3, 0x7000 + textAt, 0x7000, 5, 6} {
			if got := binary.LittleEndian.Uint64(content[wordsAt+8*i:]); got != want {
				t.Errorf("%s: word %d is %#x, want %#x", architecture, i, got, want)
			}
		}
	}
	const full = pageSize - textAt - 1 // without the NUL
	for length, want := range map[int]int{1: pageSize, full: pageSize, full + 1: 2 * pageSize} {
		if got := imageSize(strings.Repeat("x", length)); got != want {
			t.Errorf("%d bytes of text need %d, want %d", length, got, want)
		}
	}
}

// held is a program whose C code holds the GIL for .9 s at a time. It has imported nothing that the
// probe needs.
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

// TestAttachWhereCodeHoldsTheGIL: each wait for the GIL takes .9 s, so there must be few before the
// payload begins, and vramscope waits for the rest.
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
		for range 2 { // on a busy machine other programs delay the payload, too
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
