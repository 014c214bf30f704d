package ui

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"vramscope/action/attach"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// attaches fakes Actions.Attachable and Actions.Attach.
type attaches struct {
	mu       sync.Mutex
	examined []process.Identity
	attached []process.Identity
	plan     attach.Plan
	wait     chan struct{} // closed: answers come at once
	err      error
}

func (a *attaches) examine(_ context.Context, id process.Identity) attach.Plan {
	<-a.wait
	a.mu.Lock()
	defer a.mu.Unlock()
	a.examined = append(a.examined, id)
	return a.plan
}

func (a *attaches) attach(_ context.Context, r attach.Request) (attach.Result, error) {
	<-a.wait
	a.mu.Lock()
	defer a.mu.Unlock()
	a.attached = append(a.attached, r.Process)
	return attach.Result{Method: attach.GDB, Standstill: 280 * time.Millisecond}, a.err
}

// times returns how often attach was called.
func (a *attaches) times() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.attached)
}

// newAttachModel returns a model on the drawn box, seen by bob, with the key a bound.
func newAttachModel(t *testing.T, change func(*snapshot.Snapshot, *Options)) (*flushModel, *attaches) {
	t.Helper()
	a := &attaches{plan: drawnPlan(), wait: make(chan struct{})}
	m := newFlushModel(t, func(box *snapshot.Snapshot, o *Options) {
		*box = *seenBy("bob")
		o.Actions.Attachable, o.Actions.Attach = a.examine, a.attach
		o.Actions.AuditLog = drawnLog
		o.Environ = []string{"HOME=/home/bob"}
		if change != nil {
			change(box, o)
		}
	})
	return m, a
}

func TestAttachKeyAsksAndYAttaches(t *testing.T) {
	m, a := newAttachModel(t, nil)
	m.onto(snapshottest.Probeme)
	m.key("a")
	m.shows("examining the process")
	m.key("y", "enter") // before the plan is known
	if m.st.overlay == nil {
		t.Fatal("the dialog is gone before it was answered")
	}
	close(a.wait)
	m.until("ok  no other tracer")
	m.key("enter", "d", "a")
	if a.times() != 0 || m.st.overlay == nil {
		t.Fatal("it attaches before anybody has said yes, or closes")
	}
	a.wait = make(chan struct{})
	m.key("y")
	m.shows("attaching a probe to 3011876")
	m.key("a")
	m.shows("one action at a time")
	m.key("j") // the screen still takes keys
	close(a.wait)
	m.until("attached to 3011876 (paused 280 ms)")
	want := snapshottest.RowID(m.st.live, snapshottest.Probeme).Process
	if a.times() != 1 || a.attached[0] != want || a.examined[0] != want {
		t.Errorf("it asked for %+v, want %+v once", a.attached, want)
	}
	if m.attaching || m.st.progress != "" {
		t.Error("it is still under way")
	}
}

// TestEarlyYDoesNotAnswer: a y just after the plan has come does not answer the question.
func TestEarlyYDoesNotAnswer(t *testing.T) {
	m, a := newAttachModel(t, nil)
	m.onto(snapshottest.Probeme)
	m.key("a")
	close(a.wait)
	m.until("ok  no other tracer")
	m.send(keyNamed("y")) // in the moment in which the plan came
	if a.times() != 0 || m.st.overlay == nil {
		t.Error("y attaches before the question can have been read")
	}
}

func TestAttachClosesWithoutAction(t *testing.T) {
	m, a := newAttachModel(t, nil)
	m.onto(snapshottest.Probeme)
	close(a.wait)
	for _, no := range []string{"esc", "n", "q"} {
		m.key("a")
		m.until("ok  no other tracer")
		m.key(no)
		if m.st.overlay != nil || m.ended {
			t.Errorf("%s does not close the dialog", no)
		}
	}
	if a.times() != 0 {
		t.Error("it attached")
	}
}

// TestLatePlanIsDropped: a plan is dropped if the question was closed, or is about another process.
func TestLatePlanIsDropped(t *testing.T) {
	m, a := newAttachModel(t, nil)
	m.onto(snapshottest.Probeme)
	close(a.wait)
	m.key("a", "esc")
	answer := <-m.answers
	m.Update(answer)
	if m.st.overlay != nil {
		t.Error("a plan opens a dialog that was closed")
	}
	m.onto(3000533).key("a")
	m.Update(answer)
	m.shows("examining the process")
}

func TestAttachShowsEveryReason(t *testing.T) {
	m, a := newAttachModel(t, nil)
	a.plan = refusedPlan()
	close(a.wait)
	m.onto(3000533).key("a")
	m.until("Cannot attach")
	m.shows("no  not Python: /opt/tritonserver/bin/tritonserver is native code")
	m.shows("no  another user's process (frank); you are bob")
	m.shows("Instead: start it with  vramscope run -- tritonserver")
	m.key("y")
	if a.times() != 0 {
		t.Error("y attaches though it was refused")
	}
}

func TestAttachKeySaysWhyNot(t *testing.T) {
	for _, c := range []struct {
		name string
		pid  int
		want string
	}{
		{"a probe", 1288410, "PID 1288410 has a probe already"},
		{"foreign", 184, "PID 184 is another container's process: no action is possible on it"},
		{"ended", 2961877, "refused: PID 2961877 has ended"},
	} {
		m, _ := newAttachModel(t, nil)
		m.onto(c.pid).key("a")
		if m.st.overlay != nil || !strings.Contains(m.content(), c.want) {
			t.Errorf("%s: no %q, or a dialog, on\n%s", c.name, c.want, m.content())
		}
	}
	t.Run("past", func(t *testing.T) {
		m, _ := newAttachModel(t, nil)
		m.onto(snapshottest.Probeme)
		m.st.past = m.now.Add(-time.Minute)
		m.key("a")
		m.shows("not in the past: L shows the present")
		m.hides("attach")
	})
	t.Run("read-only", func(t *testing.T) {
		m, _ := newAttachModel(t, func(_ *snapshot.Snapshot, o *Options) { o.ReadOnly = true })
		m.onto(snapshottest.Probeme).key("a")
		m.shows("--read-only: actions are disabled")
		m.hides("attach")
	})
	t.Run("not bound", func(t *testing.T) {
		m, _ := newAttachModel(t, func(_ *snapshot.Snapshot, o *Options) { o.Actions.Attach = nil })
		m.onto(snapshottest.Probeme).key("a")
		m.hides("attach")
	})
	t.Run("refused by the box", func(t *testing.T) {
		m, a := newAttachModel(t, nil)
		a.err = &process.Refusal{Reason: "PID 3011876 is another process now"}
		close(a.wait)
		m.onto(snapshottest.Probeme).key("a")
		m.until("ok  no other tracer")
		m.key("y")
		m.until("refused: PID 3011876 is another process now")
	})
	t.Run("a hostile reason", func(t *testing.T) {
		m, a := newAttachModel(t, nil)
		a.err = errors.New("attach: \x1b[2J\x07")
		close(a.wait)
		m.onto(snapshottest.Probeme).key("a")
		m.until("ok  no other tracer")
		m.key("y")
		m.until("attach: ?[2J?")
	})
}

func TestAttachHintIsGreyWhereRefused(t *testing.T) {
	st := screenOf(seenBy("bob"), 80, 24)
	if st.greyed("a") {
		t.Error("without a cursor a is grey")
	}
	for pid, want := range map[int]bool{snapshottest.Probeme: false, 1288410: true, 184: true, snapshottest.Leaking: true} {
		if got := st.at(pid, 0).greyed("a"); got != want {
			t.Errorf("on %d a is grey: %v", pid, got)
		}
	}
}

// TestDayOneHintNamesOnlyAvailableKeys: if attaching is not available, only run is named.
func TestDayOneHintNamesOnlyAvailableKeys(t *testing.T) {
	for bound, want := range map[bool]string{true: "CMD\", or a on a Python process", false: "start jobs with \"vramscope run -- CMD\" "} {
		m, _ := newAttachModel(t, func(box *snapshot.Snapshot, o *Options) {
			*box = *snapshottest.DayOne()
			if !bound {
				o.Actions.Attach = nil
			}
		})
		m.shows(want)
	}
}
