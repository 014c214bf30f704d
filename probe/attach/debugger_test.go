//go:build linux

package attach

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/needs"
)

// TestGdbWithoutRegistersHarmsNothing: if gdb cannot write registers the plan says so, and
// attaching fails if it is tried. No system call of the program returns an unexpected error.
func TestGdbWithoutRegistersHarmsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	for _, python := range needPythonAndGdb(t) {
		refused := gdbCalls() != nil
		for _, name := range []string{"sleeping", "reading", "selecting"} {
			p := runTarget(t, python, name)
			a := testAttacher()
			plan := a.Examine(t.Context(), identify(t, p.pid()))
			if plan.Possible() == refused {
				t.Errorf("%s: %+v", name, plan.Checks)
			}
			plan.Method, plan.Checks = GDB, nil // even if the plan refuses it
			if _, err := a.Enter(t.Context(), &plan); err != nil != refused || refused && !errors.Is(err, errRegisters) {
				t.Errorf("%s: %v", name, err)
			}
			p.mustBeWell()
			p.mustEndWell()
		}
		return
	}
}

// TestProcessContinuesAfterGdbIsKilled: outside a call, the kernel detaches a killed
// gdb.
func TestProcessContinuesAfterGdbIsKilled(t *testing.T) {
	t.Parallel()
	for _, python := range needGdb(t) {
		p := runTarget(t, python, "churn")
		a := testAttacher()
		plan := a.Examine(t.Context(), identify(t, p.pid()))
		if !plan.Possible() {
			t.Fatal(plan.Refusal())
		}
		d, err := startDebugger(plan.gdb, t.TempDir(), waitTime)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.execute("attach " + strconv.Itoa(p.pid())); err != nil {
			t.Fatal(err)
		}
		if err := d.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.leave(), a.resume(&plan)); err != nil {
			t.Fatal(err)
		}
		p.mustBeWell()
		p.mustEndWell()
		return
	}
}

func TestCancelledAttachLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, python := range needGdb(t) {
		p := runTarget(t, python, "derive")
		p.mustComputeElsewhere()
		a := testAttacher()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for ctx.Err() == nil {
				if state, err := readStatus(ctx, "/proc", strconv.Itoa(p.pid())); err == nil && state.tracer != 0 {
					cancel()
				}
			}
		}()
		_, err := examineAndEnter(ctx, a, identify(t, p.pid()))
		cancel()
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "context") || !strings.Contains(err.Error(), "cancelled") {
			t.Errorf("got %v", err)
		}
		p.mustBeWell()
		return
	}
}

// TestEndlessGdbIsBounded: gdb's output on disk and in memory and the wait for it are limited, also
// if gdb answers nothing, or a little at a time.
func TestEndlessGdbIsBounded(t *testing.T) {
	for script, want := range map[string]string{
		"exec yes":                            errEndless.Error(),
		"sleep 300":                           errNoAnswer.Error(),
		"while :; do echo y; sleep .01; done": errNoAnswer.Error(),
	} {
		program := filepath.Join(t.TempDir(), "gdb")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		d, err := startDebugger(program, t.TempDir(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if want == errEndless.Error() {
			d.timeout = waitTime
			<-d.ended // gdb has ended at the limit: execute must say so even if it sees the end before it reads the output
		}
		if text, err := d.execute("x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d bytes, %v; want %s", script, len(text), err, want)
		}
		_ = d.cmd.Process.Kill() // it may have ended
		<-d.ended
		if info, err := os.Stat(d.path); err != nil || info.Size() > outputSize {
			t.Errorf("%s: %d bytes on disk: %v", script, info.Size(), err)
		}
	}
}

// TestGdbOutlivesItsOutputLimit: gdb must not die while a process is stopped.
func TestGdbOutlivesItsOutputLimit(t *testing.T) {
	needs.Tool(t, "gdb")
	d, err := startDebugger("gdb", t.TempDir(), waitTime)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.execute("shell head -c 9000000 /dev/zero", "echo what gdb writes itself fails\\n")
	if !errors.Is(err, errEndless) {
		t.Errorf("%v", err)
	}
	if err := d.leave(); err != nil || !d.endedWell() {
		t.Errorf("it has not exited by itself: %v", err)
	}
}
