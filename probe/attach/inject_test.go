//go:build linux

package attach

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/needs"
)

// startProgram starts a program that says "ready", and what it is told by.
func startProgram(t *testing.T, program string, args ...string) (cmd *exec.Cmd, tell func()) {
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
		_ = cmd.Process.Kill() // it has ended, or takes it
		_ = cmd.Wait()         // likewise
	})
	said := make([]byte, 5)
	if _, err := output.Read(said); err != nil || string(said) != "ready" {
		t.Fatalf("it says %q, %v", said, err)
	}
	return cmd, func() {
		if _, err := input.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
}

// mustBeLeft checks that nobody traces or has stopped a process.
func mustBeLeft(t *testing.T, pid int) {
	t.Helper()
	state, err := readStatus(t.Context(), "/proc", strconv.Itoa(pid))
	if err != nil || state.tracer != 0 || strings.ContainsRune("tTZX", rune(state.state)) {
		t.Errorf("it is in state %c, traced by %d, %v", state.state, state.tracer, err)
	}
}

// TestAnotherProgramIsLeftAlone: what was a Python when it was looked at has
// called exec since. Its pid and its start time are what they were.
func TestAnotherProgramIsLeftAlone(t *testing.T) {
	t.Parallel()
	sleep := needs.Tool(t, "sleep")
	for _, python := range needGdb(t) {
		cmd, tell := startProgram(t, python, "-c",
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
		if _, err := d.say(settings...); err != nil {
			t.Fatal(err)
		}
		tell()
		until(t, "it to be another program", func() bool {
			name, err := os.ReadFile(filepath.Join(in.dir, "comm"))
			return err == nil && string(name) == "sleep\n"
		})
		done, _, err := in.visit()
		if done || err == nil {
			t.Errorf("a visit: %v, %v", done, err)
		}
		if err := d.leave(); err != nil {
			t.Error(err)
		}
		mustBeLeft(t, cmd.Process.Pid)
		return
	}
}

// TestAPythonThatDoesNotRunIsLeftAlone: a program has Python's library, and has
// not begun to use it. To ask for the GIL would be its end.
func TestAPythonThatDoesNotRunIsLeftAlone(t *testing.T) {
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
		if err == nil || !strings.Contains(err.Error(), "its Python does not run") {
			t.Errorf("it says %v", err)
		}
		mustBeLeft(t, cmd.Process.Pid)
		return
	}
	t.Skip("no Python here is a library")
}

// sharedLibrary is the library that a Python is in, "" where it is in none.
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

// TestWhoHangsInTheKernelIsNotStopped: a debugger would wait for that thread with
// all the others stopped. Who waits for a disk comes back.
func TestWhoHangsInTheKernelIsNotStopped(t *testing.T) {
	f := newFixture(t)
	a := New(Options{Proc: f.proc})
	looks := 0
	thread := func(id int, state string, switches int) {
		f.write(fmt.Sprintf("Name:\tpython3\nState:\t%s\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t7\n", state, switches),
			f.of("task", strconv.Itoa(id), "status"))
	}
	a.pause = nil // nobody waits where nobody hangs
	thread(500, "S (sleeping)", 1)
	if err := a.mustStop(t.Context(), f.of()); err != nil {
		t.Error(err)
	}
	clock := a.now()
	a.now = func() (now time.Time) { return clock }
	a.pause = func(context.Context, time.Duration) {
		looks++
		clock = clock.Add(hangTime / 4)
		thread(501, "D (disk sleep)", looks) // it is scheduled in between
	}
	thread(501, "D (disk sleep)", 0)
	if err := a.mustStop(t.Context(), f.of()); err != nil || looks != 1 {
		t.Errorf("who waits for a disk: %v after %d looks", err, looks)
	}
	looks = 0
	thread(502, "D (disk sleep)", 5)
	err := a.mustStop(t.Context(), f.of())
	if err == nil || !strings.Contains(err.Error(), "thread 502 of it hangs in the kernel") {
		t.Errorf("who hangs: %v", err)
	}
}

func TestRoomOnAStack(t *testing.T) {
	all := parseSpans("7f000000-7f001000 ---p 00000000 00:00 0 \n7f001000-7f021000 rw-p 00000000 00:00 0\nnonsense\n\n")
	for pointer, want := range map[uint64]uint64{0x7f001000: 0, 0x7f020ff0: 0x1fff0, 0x7f021000: 0, 0: 0} {
		if got := roomBelow(all, pointer); got != want {
			t.Errorf("%#x: %#x, want %#x", pointer, got, want)
		}
	}
}
