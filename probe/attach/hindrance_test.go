//go:build linux

package attach

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
)

// killing are system calls of a probe's start. In these tests a filter kills for one of them.
var killing = []string{"socket", "bind", "mmap", "clone3", "mkdirat", "socketpair"}

const otherFilters = "it has other seccomp filters than vramscope (1, vramscope 0), which may kill it for a call of the probe"

func TestExamineListsHindrances(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fixture)
		want   string
	}{
		"strict seccomp": {func(f *fixture) { f.status["Seccomp"] = "1" }, "strict seccomp: another thread would kill it"},
		"a seccomp filter of its own": {func(f *fixture) { f.status["Seccomp"], f.status["Seccomp_filters"], f.filters = "2", "2", 1 },
			"it has other seccomp filters than vramscope (2, vramscope 1), which may kill it for a call of the probe"},
		"fewer seccomp filters": {func(f *fixture) { f.status["Seccomp"], f.status["Seccomp_filters"], f.filters = "2", "1", 2 },
			"it has other seccomp filters than vramscope (1, vramscope 2), which may kill it for a call of the probe"},
		"a thread with a seccomp filter": {func(f *fixture) {
			f.write("State:\tS\nTracerPid:\t0\nUid:\t1 1 1 1\nCapEff:\t0\nSigBlk:\t0\nSigCgt:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n", f.of("task/501/status"))
		}, "it has other seccomp filters than vramscope (1, vramscope 0), which may kill it for a call of the probe"},
		"seccomp before Linux 5.9": {func(f *fixture) { f.status["Seccomp"] = "2" },
			"it has seccomp filters, which may kill it for a call of the probe; Linux before 5.9 does not report how many are its own"},
		"no descriptors": {func(f *fixture) {
			f.status["FDSize"] = "256"
			f.write("Limit                     Soft Limit           Hard Limit           Units     \nMax open files            10                   1024                 files     \n", f.of("limits"))
			for i := range 3 {
				f.write("", f.of("fd", strconv.Itoa(i)))
			}
		}, "it has 3 of 10 file descriptors open, and a probe needs 8"},
	} {
		if stubs[runtime.GOARCH] == nil {
			t.Skip("gdb attaching is not supported on " + runtime.GOARCH)
		}
		f := newFixture(t)
		c.change(f)
		plan := f.examined()
		if got := texts(&plan, false); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if helps := name == "no descriptors"; (plan.Instead != "") != helps {
			t.Errorf("%s: advice %q", name, plan.Instead)
		}
	}
}

// anyPythons returns the Pythons that can be attached to here, by gdb or sys.remote_exec.
func anyPythons(t *testing.T) map[string]string {
	t.Helper()
	mustTrace(t)
	found := maps.Clone(pythons())
	if _, err := exec.LookPath("gdb"); err != nil || gdbCalls() != nil {
		maps.DeleteFunc(found, func(version, _ string) bool { return version != "3.14" })
	}
	if len(found) == 0 {
		t.Skip("no Python that can be attached to here")
	}
	return found
}

func unfiltered(t *testing.T) {
	t.Helper()
	if own, err := readStatus(t.Context(), "/proc", "self"); err != nil || own.seccomp != 0 {
		t.Skipf("this test runs under seccomp, %v", err)
	}
}

// TestFiltersThatKillAreRefused: each process would be killed when the probe starts.
func TestFiltersThatKillAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	unfiltered(t)
	for version, python := range anyPythons(t) {
		for i, call := range killing {
			t.Run(version+"/"+call, func(t *testing.T) {
				t.Parallel()
				who := []string{"main", "thread"}[i%2]
				p := runTarget(t, python, "filtered", "FILTER="+who+" "+call)
				_, err := examineAndEnter(t.Context(), testAttacher(), identify(t, p.pid()))
				mustRefuse(t, err, otherFilters)
				p.mustBeWell()
				p.mustEndWell()
			})
		}
	}
}

func mustRefuse(t *testing.T, err error, want string) {
	t.Helper()
	var refusal *process.Refusal
	if !errors.As(err, &refusal) || refusal.Reason != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestFilterAfterExamineIsRefused: the filters are compared once more before anything is done.
func TestFilterAfterExamineIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	unfiltered(t)
	for version, python := range anyPythons(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := runTarget(t, python, "filtered", "FILTER=later socketpair")
			a := testAttacher()
			plan := a.Examine(t.Context(), identify(t, p.pid()))
			if !plan.Possible() {
				t.Fatal(plan.Refusal())
			}
			request := p.count + ".install"
			if err := os.WriteFile(request, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			until(t, "the filter", func() bool { _, err := os.Stat(request); return errors.Is(err, os.ErrNotExist) })
			_, err := a.Enter(t.Context(), &plan)
			mustRefuse(t, err, otherFilters)
			p.mustBeWell()
			p.mustEndWell()
		})
	}
}

// TestPayloadChecksFilters: Python may run the script at any time after vramscope has asked for it.
func TestPayloadChecksFilters(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	for _, python := range anyPythons(t) {
		p, err := newPayload(true, &status{}, "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer p.remove()
		script := filepath.Join(p.directory, scriptName)
		cmd := exec.Command(python, "-c", "import sys, seccomp; seccomp.prepare('clone3')(); exec(open(sys.argv[1]).read())", script)
		cmd.Env = append(os.Environ(), "PYTHONPATH=testdata")
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 || p.begun() || p.failure() != "" {
			t.Errorf("%v, %q, begun %v, failure %q", err, out, p.begun(), p.failure())
		}
		return
	}
}

// TestCommonFiltersAreAccepted: vramscope runs under the container's filters, too.
func TestCommonFiltersAreAccepted(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	unfiltered(t)
	for version, python := range anyPythons(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			wrapper, err := filepath.Abs("testdata/seccomp.py")
			if err != nil {
				t.Fatal(err)
			}
			filtered := filepath.Join(t.TempDir(), "python")
			script := fmt.Sprintf("#!/bin/sh\nexec %q %q acct %q \"$@\"\n", python, wrapper, python)
			if err := os.WriteFile(filtered, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			p := runTarget(t, filtered, "sleeping")
			_, err = examineAndEnter(t.Context(), testAttacher(), identify(t, p.pid()))
			mustRefuse(t, err, otherFilters)
			cmd := exec.Command(python, wrapper, "acct", os.Args[0])
			cmd.Env = append(os.Environ(), asAttacher+"="+strconv.Itoa(p.pid()))
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "<nil>\n" {
				t.Errorf("%s, %v", out, err)
			}
			p.mustBeWell()
			p.mustEndWell()
		})
	}
}

// TestFileDescriptorsAreCounted: a process with too few free descriptors is left alone, and one with
// as many free as a probe needs gets a probe.
func TestFileDescriptorsAreCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	for version, python := range anyPythons(t) {
		for _, free := range []int{0, descriptorsNeeded - 1, descriptorsNeeded} {
			t.Run(fmt.Sprintf("%s/%d", version, free), func(t *testing.T) {
				t.Parallel()
				p := runTarget(t, python, "full", "FREE="+strconv.Itoa(free))
				_, err := examineAndEnter(t.Context(), testAttacher(), identify(t, p.pid()))
				var refusal *process.Refusal
				switch refused := errors.As(err, &refusal); {
				case free < descriptorsNeeded && (!refused || !strings.HasSuffix(refusal.Reason, "file descriptors open, and a probe needs 8")):
					t.Errorf("with %d free: %v", free, err)
				case free >= descriptorsNeeded && err != nil:
					t.Errorf("with %d free: %v", free, err)
				}
				p.mustBeWell()
				p.mustEndWell()
			})
		}
	}
}

// TestPayloadReports: a payload reports its failure even without a free file descriptor or a thread.
func TestPayloadReports(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	const exhaust = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"
	const threadless = "import _thread\n_thread.stack_size(1 << 47)\n" // more than there are addresses
	// Like gevent, this replaces start_new_thread.
	const green = "import _thread, sys, types\noriginal = _thread.start_new_thread\ndef hub(*_): raise SystemExit(1)\n_thread.start_new_thread = hub\n" +
		"sys.modules['gevent.monkey'] = types.SimpleNamespace(get_original=lambda module, name: {'_thread.start_new_thread': original}[module + '.' + name])\n" +
		"sys.modules['vramscope_probe'] = types.ModuleType('vramscope_probe')\n"
	for _, python := range anyPythons(t) {
		for _, c := range []struct {
			before, want string
			remote       bool
		}{
			{exhaust, "Too many open files", false},
			{threadless, "RuntimeError: can't start new thread", true},
			{green, "another probe is being started in it; try again", true},
		} {
			p, err := newPayload(c.remote, &status{}, "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer p.remove()
			cmd := exec.Command(python, "-c", "import os, sys, time\ntext = sys.stdin.read()\n"+c.before+"exec(text)\n"+
				"end = time.time() + 60\nwhile not os.path.lexists(sys.argv[1]) and time.time() < end: time.sleep(.01)", filepath.Join(p.directory, failedName))
			cmd.Stdin = strings.NewReader(p.text)
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 || !strings.Contains(p.failure(), c.want) {
				t.Errorf("%v, %q, failure %q, want %q", err, out, p.failure(), c.want)
			}
		}
		return
	}
}

// TestInterruptIsThePrograms: a Ctrl-C that comes while the main thread runs the script reaches the
// program.
func TestInterruptIsThePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	for _, python := range anyPythons(t) {
		p, err := newPayload(true, &status{}, "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer p.remove()
		cmd := exec.Command(python, "-c", `
import _thread, sys, time
original = _thread.start_new_thread
def interrupted(*_):
    _thread.start_new_thread = original
    raise KeyboardInterrupt
_thread.start_new_thread = interrupted
try:
    exec(sys.stdin.read())
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")`)
		cmd.Stdin = strings.NewReader(p.text)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "interrupted\n" || p.failure() != "" {
			t.Errorf("%v, %q, failure %q", err, out, p.failure())
		}
		return
	}
}

// TestHungThreadIsNotStopped: a debugger would wait for that thread while all others are stopped. A
// thread that waits for a disk soon continues.
func TestHungThreadIsNotStopped(t *testing.T) {
	f := newFixture(t)
	a := New(nil, nil)
	a.proc = f.proc
	reads := 0
	thread := func(id int, state string, switches int) {
		f.write(fmt.Sprintf("Name:\tpython3\nState:\t%s\nTracerPid:\t0\nUid:\t1\t1\t1\t1\nSigBlk:\t0\nSigCgt:\t0\nCapEff:\t0\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t7\n", state, switches),
			f.of("task", strconv.Itoa(id), "status"))
	}
	a.pause = nil // not called while no thread hangs
	thread(500, "S (sleeping)", 1)
	if err := a.mustStop(t.Context(), f.of()); err != nil {
		t.Error(err)
	}
	clock := a.now()
	a.now = func() (now time.Time) { return clock }
	a.pause = func(context.Context, time.Duration) {
		reads++
		clock = clock.Add(hangTime / 4)
		thread(501, "D (disk sleep)", reads) // it is scheduled in between
	}
	thread(501, "D (disk sleep)", 0)
	if err := a.mustStop(t.Context(), f.of()); err != nil || reads != 1 {
		t.Errorf("a thread that waits for a disk: %v after %d reads", err, reads)
	}
	reads = 0
	thread(502, "D (disk sleep)", 5)
	err := a.mustStop(t.Context(), f.of())
	if err == nil || !strings.Contains(err.Error(), "its thread 502 hangs in the kernel") {
		t.Errorf("a thread that hangs: %v", err)
	}
}
