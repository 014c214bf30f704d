//go:build linux

package attach

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestHungThreadIsNotStopped: a debugger would wait for that thread with all others
// stopped. A thread that waits for a disk continues.
func TestHungThreadIsNotStopped(t *testing.T) {
	f := newFixture(t)
	a := New(Options{Proc: f.proc})
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
