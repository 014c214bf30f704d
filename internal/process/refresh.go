package process

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"vramscope/internal/panics"
)

// Readers read facts in the background:
//
//	Processes ── queue ── readers, at most 16 ── each entry's channel ──→ this call, or a later one
//
// A call waits, at most its timeout, for the facts of processes that are new to
// it. Facts that are read again are taken in by a later call.

// request asks for the facts of one process. Its channel has room for them, so
// that a reader never waits.
type request struct {
	pid    int
	answer chan<- facts
}

// requests is a queue, oldest first.
type requests struct {
	mu      sync.Mutex
	waiting []request
}

// maxRequests limits the queue while all readers hang.
const maxRequests = 4096

// newReaders is how many readers one call adds at most. A call with a short
// timeout leaves a processor to its caller. Where all readers hang, the next call
// adds others.
func (t *Table) newReaders() int {
	processors := runtime.GOMAXPROCS(0)
	if t.Timeout <= timeout {
		processors = max(processors-1, 1)
	}
	return min(processors, 4)
}

// enqueue requests the facts of a process; nil where the queue is full.
func (t *Table) enqueue(pid int) chan facts {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if len(t.queue.waiting) >= maxRequests {
		return nil
	}
	answer := make(chan facts, 1)
	t.queue.waiting = append(t.queue.waiting, request{pid, answer})
	return answer
}

// startReaders starts readers for the queue.
func (t *Table) startReaders() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	for range min(len(t.queue.waiting), t.newReaders()) {
		select {
		case t.slots <- struct{}{}:
			go t.readQueued()
		default:
			return
		}
	}
}

// readQueued reads until the queue is empty.
func (t *Table) readQueued() {
	for next, ok := t.nextRequest(); ok; next, ok = t.nextRequest() {
		next.answer <- t.readCaught(next.pid)
	}
}

// readCaught reads the facts of a process; take panics again where it panics.
func (t *Table) readCaught(pid int) (f facts) {
	defer func() { f.panic = panics.Catch(recover()) }()
	return t.read(t, pid)
}

// nextRequest takes the oldest request. Where there is none it frees the reader's
// slot, under the same lock: the next startReaders finds it free.
func (t *Table) nextRequest() (request, bool) {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if len(t.queue.waiting) == 0 {
		t.queue.waiting = nil
		<-t.slots
		return request{}, false
	}
	next := t.queue.waiting[0]
	t.queue.waiting = t.queue.waiting[1:]
	return next, true
}

// refresh requests the facts of entries, and waits, at most timeout, for those of
// new entries and for their users' names.
func (t *Table) refresh(now time.Time, entries []*entry, timeout time.Duration) {
	if len(entries) == 0 {
		return
	}
	for _, e := range entries {
		if e.pending != nil {
			continue
		}
		pid := e.info.Identity.PID
		if e.pending = t.enqueue(pid); e.pending == nil {
			continue
		}
		e.refreshed = now
		if e.awaited {
			// Spread the next reading of processes found at once.
			e.refreshed = now.Add(-time.Duration(pid) * time.Second % refreshEvery)
		}
	}
	t.startReaders()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	late := false
	var asked []<-chan struct{}
	for _, e := range slices.Backward(entries) { // the last is read last: to wait for it once is enough
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

// wait takes the facts in when they come. It reports whether the deadline
// came first.
func (e *entry) wait(deadline <-chan time.Time) (late bool) {
	if e.collect(); e.pending == nil {
		return false // also where the deadline has passed
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
	// A process that is exiting has no command line: the last one stays.
	if len(f.command) > 0 {
		e.info.Command = f.command
	}
}
