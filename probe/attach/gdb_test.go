//go:build linux

package attach

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/needs"
	"vramscope/internal/process"
)

// busy are the targets that must get a probe by gdb.
var busy = []string{
	"churn", "compute", "sleeping", "selecting", "reading", "threads", "joined", "locked", "forks", "children", "loop", "signals",
	"unchanged", "modules", "reloads", "objects", "frames",
}

// rounds is how often to attach to every target of every Python. The measurements
// in docs/attach.md were made with it:
//
//	VRAMSCOPE_ATTACH_ROUNDS=20 go test -run Busy -v -timeout 2h ./probe/attach
const rounds = "VRAMSCOPE_ATTACH_ROUNDS"

// needGdb skips the test if gdb cannot call functions in a process.
func needGdb(t *testing.T) map[string]string {
	t.Helper()
	found := needPythonAndGdb(t)
	if err := gdbCalls(); err != nil {
		t.Skip(err)
	}
	return found
}

// gdbCalls checks that this machine's gdb can write registers.
var gdbCalls = sync.OnceValue(func() error {
	directory, err := os.MkdirTemp("", "vramscope-gdb-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(directory) }() // leftovers are in the temporary directory
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill() // it may have exited
		_ = cmd.Wait()         // its error does not matter
	}()
	d, err := startDebugger("gdb", directory, waitTime)
	if err != nil {
		return err
	}
	_, err = d.execute(append(slices.Clone(settings), "attach "+strconv.Itoa(cmd.Process.Pid))...)
	return errors.Join(err, d.checkRegisters(), d.leave())
})

// needPythonAndGdb skips the test without Python or gdb, or if tracing is forbidden.
func needPythonAndGdb(t *testing.T) map[string]string {
	t.Helper()
	needs.Tool(t, "gdb")
	if stubs[runtime.GOARCH] == nil {
		t.Skip("gdb attaching is not supported on " + runtime.GOARCH)
	}
	found := maps.Clone(pythons())
	delete(found, "3.14") // its method is sys.remote_exec
	if len(found) == 0 {
		t.Skip("no Python from 3.8 to 3.13")
	}
	mustTrace(t)
	return found
}

// mustTrace skips the test in a sandbox that forbids tracing.
func mustTrace(t *testing.T) {
	t.Helper()
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // it may have exited
		_ = cmd.Wait()         // its error does not matter
	}()
	if _, err := readMemory(fmt.Sprintf("/proc/%d", cmd.Process.Pid), 0, 1); errors.Is(err, os.ErrPermission) {
		t.Skipf("this machine does not allow tracing: %v", err)
	}
}

// TestBusyProgramsSurviveAttach: no program may die, stay stopped or traced, or
// compute a wrong result.
func TestBusyProgramsSurviveAttach(t *testing.T) {
	found := needGdb(t)
	versions := slices.Sorted(func(yield func(string) bool) {
		for version := range found {
			if !yield(version) {
				return
			}
		}
	})
	times, _ := strconv.Atoi(os.Getenv(rounds)) // 0 if it is not set
	var stood []time.Duration
	targets := busy
	if testing.Short() {
		targets = busy[:2]
	}
	for i, name := range targets {
		for j, version := range versions {
			if times == 0 && i%len(versions) != j {
				continue // each target once, and each Python at least once
			}
			for range max(times, 1) {
				t.Run(version+"/"+name, func(t *testing.T) {
					stood = append(stood, attachOnce(t, found[version], name))
				})
			}
		}
	}
	slices.Sort(stood)
	if n := len(stood); n > 0 {
		t.Logf("%d attached; standstill median %v, 95 %% within %v, longest %v", n, stood[n/2], stood[n*95/100], stood[n-1])
	}
}

func attachOnce(t *testing.T, python, name string) time.Duration {
	p := runTarget(t, python, name)
	a := testAttacher()
	result, err := examineAndEnter(t.Context(), a, identify(t, p.pid()))
	if err != nil {
		t.Errorf("%v", err)
	}
	p.mustBeWell()
	if result.Hello.StartedBy != "attach" || result.Hello.PID != p.pid() {
		t.Errorf("hello: %+v", result.Hello)
	}
	p.mustEndWell()
	return result.Standstill
}

// TestAttachWithTracemalloc: with tracemalloc, Python's allocators wait for the GIL.
func TestAttachWithTracemalloc(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	for version, python := range needGdb(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := runTarget(t, python, "compute", "PYTHONTRACEMALLOC=5")
			a := testAttacher()
			if _, err := examineAndEnter(t.Context(), a, identify(t, p.pid())); err != nil {
				t.Error(err)
			}
			p.mustBeWell()
			p.mustEndWell()
		})
	}
}

// TestAttachAfterFirstThreadExited: without its first thread, Python 3.12.0 to 3.12.2 start no other,
// and the probe runs on the thread that gdb has started.
func TestAttachAfterFirstThreadExited(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	for version, python := range needGdb(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := runTarget(t, python, "orphaned", "VRAMSCOPE_PROBE_DEBUG=") // 3.12.1 has a failure to print
			a := testAttacher()
			id := identify(t, p.pid())
			if _, err := examineAndEnter(t.Context(), a, id); err != nil {
				t.Error(err)
			}
			p.mustBeWell()
			p.mustEndWell()
		})
	}
}

func TestSecondProbeIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	for _, python := range needGdb(t) {
		p := runTarget(t, python, "sleeping")
		a := testAttacher()
		if _, err := examineAndEnter(t.Context(), a, identify(t, p.pid())); err != nil {
			t.Fatal(err)
		}
		_, err := examineAndEnter(t.Context(), a, identify(t, p.pid()))
		var refusal *process.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != "it has a probe already" {
			t.Errorf("the second time: %v", err)
		}
		p.mustEndWell()
		return
	}
}

// TestBlockedProcessIsLeftAlone: if no thread is usable, or if the new thread cannot run Python,
// attaching fails, and nothing happens later.
func TestBlockedProcessIsLeftAlone(t *testing.T) {
	for name, want := range map[string]string{
		"derive": "blocked in C: for ",
		"power":  "no other thread could run Python for ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, python := range needGdb(t) {
				p := runTarget(t, python, name)
				p.mustComputeElsewhere()
				a := testAttacher()
				a.timeout = 3 * time.Second
				_, err := examineAndEnter(t.Context(), a, identify(t, p.pid()))
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v", err)
				}
				p.mustBeWell()
				return
			}
		})
	}
}

// TestGdbIgnoresSignals: gdb gets signals all the time while it stops the process. gdb finishes, and
// the program continues.
func TestGdbIgnoresSignals(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	for _, python := range needGdb(t) {
		for i, name := range []string{"churn", "threads", "forks", "sleeping"} {
			signal := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}[i]
			until(t, fmt.Sprintf("%v to be sent while gdb holds %s", signal, name), func() bool {
				return attachUnder(t, signal, runTarget(t, python, name)) > 0
			})
		}
		return
	}
}

// attachUnder attaches while it sends gdb a signal again and again, and returns how often. It may be
// 0 on a loaded machine, where gdb finishes first.
func attachUnder(t *testing.T, signal syscall.Signal, p *target) int {
	t.Helper()
	a := testAttacher()
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan int)
	go func() {
		n := 0
		for ctx.Err() == nil {
			state, err := readStatus(ctx, "/proc", strconv.Itoa(p.pid()))
			if err == nil && state.tracer != 0 && syscall.Kill(state.tracer, signal) == nil {
				n++
			}
		}
		sent <- n
	}()
	_, err := examineAndEnter(t.Context(), a, identify(t, p.pid()))
	cancel()
	n := <-sent
	if err != nil {
		t.Errorf("%s, %v sent %d times: %v", p.name, signal, n, err)
	}
	p.mustBeWell()
	p.mustEndWell()
	return n
}
