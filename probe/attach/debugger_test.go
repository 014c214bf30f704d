//go:build linux

package attach

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
)

// TestGdbWithoutRegistersHarmsNothing: where gdb cannot write registers the plan says
// so, and attaching fails all the same. No system call of the program returns an unexpected error.
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
			plan.Method, plan.Checks = GDB, nil // also where the plan refuses it
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
