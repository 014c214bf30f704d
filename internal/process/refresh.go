package process

import (
	"cmp"
	"slices"
	"time"

	"vramscope/internal/panics"
)

// Readers read facts in the background:
//
//	Processes ── readers, at most maxReaders at a time ── each entry's channel ──→ this call, or a later one
//
// A call waits, at most its timeout, for the facts of new processes. It does not wait for facts that
// are read again.

// maxPending limits the readers, including those that wait for their turn while others hang.
const maxPending = 4096

// request starts a reader of the facts of a process. It returns nil if too many wait. The channel
// has room for the facts, so that a reader never waits for its caller.
func (t *Table) request(pid int) <-chan facts {
	if t.pending.Add(1) > maxPending {
		t.pending.Add(-1)
		return nil
	}
	answer := make(chan facts, 1)
	go func() {
		t.slots <- struct{}{}
		f, caught := panics.Of(func() facts { return t.read(t, pid) })
		f.panic = caught
		answer <- f
		<-t.slots
		t.pending.Add(-1)
	}()
	return answer
}

// refresh requests the facts of entries. It waits for those of new entries, and for the names of
// their users, but not longer than timeout.
func (t *Table) refresh(now time.Time, entries []*entry, timeout time.Duration) {
	if len(entries) == 0 {
		return
	}
	for _, e := range entries {
		if e.pending != nil {
			continue
		}
		pid := e.info.Identity.PID
		if e.pending = t.request(pid); e.pending == nil {
			continue
		}
		e.refreshed = now
		if e.awaited {
			// Spread the next reading of processes found at once.
			e.refreshed = now.Add(-time.Duration(pid) * time.Second % refreshEvery)
		}
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	late := false
	var asked []<-chan struct{}
	for _, e := range slices.Backward(entries) { // the last reader mostly ends last: after it, few waits are left
		first := e.awaited
		e.awaited = false // only one call waits for it
		if first && !late {
			late = e.wait(deadline.C)
		} else {
			e.collect()
		}
		uid, known := e.info.UID.Value()
		if e.pending != nil || !known {
			continue
		}
		if answered := t.users.ask(uid); first {
			asked = append(asked, answered)
		}
	}
	for _, answered := range asked {
		if late {
			return
		}
		select {
		case <-answered:
		case <-deadline.C:
			late = true
		}
	}
}

// wait takes the facts in when they come. It reports whether the deadline came first.
func (e *entry) wait(deadline <-chan time.Time) (late bool) {
	if e.collect(); e.pending == nil {
		return false // even if the deadline has passed
	}
	select {
	case f := <-e.pending:
		e.take(f)
		return false
	case <-deadline:
		return true
	}
}

// collect takes the facts in if they have come.
func (e *entry) collect() {
	select {
	case f := <-e.pending:
		e.take(f)
	default:
	}
}

func (e *entry) take(f facts) {
	e.pending = nil
	f.panic.Again()
	e.info.UID, e.info.Job, e.info.Hints = f.uid, f.job, f.hints
	if f.kills.file != "" { // the kernel kills some time before a process has ended: keep the count from before
		e.kills, e.killsBefore = f.kills, cmp.Or(e.kills, f.kills)
	}
	// A process that is exiting has no command line: the last one stays.
	if len(f.command) > 0 {
		e.info.Command = f.command
	}
}
