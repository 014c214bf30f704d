package process

import (
	"runtime"
	"sync"
	"time"

	"vramscope/internal/panics"
)

// Facts are read behind the calls that want them:
//
//	Processes ── queue ── readers, at most 16 ── each entry's channel ──→ this call, or a later one
//
// A call waits for the facts of processes that it sees for the first time, as
// long as its timeout lasts. What is only read anew is taken in when it has
// come.

// request asks for the facts of one process. Its channel has room for them, so
// that a reader waits for nobody.
type request struct {
	pid    int
	answer chan<- facts
}

// requests are a queue: what no reader has taken up yet, oldest first.
type requests struct {
	mu      sync.Mutex
	waiting []request
}

// mostRequests bounds what piles up while all readers hang.
const mostRequests = 4096

// newReaders is how many readers one call adds at most. A caller with little
// timeout has something else to do, and a processor is left to it. Where they
// all hang, the next call adds others.
func (t *Table) newReaders() int {
	processors := runtime.GOMAXPROCS(0)
	if t.Timeout <= timeout {
		processors = max(processors-1, 1)
	}
	return min(processors, 4)
}

// enqueue has the facts of a process read; nil where too much is waiting.
func (t *Table) enqueue(pid int) chan facts {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if len(t.queue.waiting) >= mostRequests {
		return nil
	}
	answer := make(chan facts, 1)
	t.queue.waiting = append(t.queue.waiting, request{pid, answer})
	return answer
}

// startReaders sees to it that somebody reads what is waiting.
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

// readQueued reads until nothing is waiting.
func (t *Table) readQueued() {
	for {
		next, ok := t.nextRequest()
		if !ok {
			return
		}
		next.answer <- t.readCaught(next.pid)
	}
}

// readCaught reads the facts of a process. A panic is the caller's who takes them.
func (t *Table) readCaught(pid int) (f facts) {
	defer func() { f.panic = panics.Catch(recover()) }()
	return t.read(t.root, pid, t.hostname)
}

// nextRequest takes the oldest request. Where there is none the reader's slot is
// given back, under the same lock: whoever sends the next finds it free.
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

// refresh has the facts of entries read, and waits so long for those that
// nothing is known of yet, and for their users' names.
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
			// A thousand that are found at once need not be read anew at once.
			e.refreshed = now.Add(-time.Duration(pid) * time.Second % refreshEvery)
		}
	}
	t.startReaders()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	late := false
	var asked []<-chan struct{}
	for _, e := range entries {
		first := e.awaited
		e.awaited = false // one call waits for it, and no other
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

// nameUser takes the user's name as it is known by now.
func (e *entry) nameUser(users *users) {
	if uid, ok := e.info.UID.Value(); ok {
		e.info.User = users.name(uid)
	}
}

// wait takes the facts in when they come. It reports whether the deadline
// came first.
func (e *entry) wait(deadline <-chan time.Time) (late bool) {
	if e.collect(); e.pending == nil {
		return false // before the deadline, which may have passed as well
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
	e.info.UID, e.info.Job = f.uid, f.job
	// A process that is exiting has no command line any more; what it was is
	// still what it was.
	if len(f.command) > 0 {
		e.info.Command = f.command
	}
	if f.executable != "" {
		e.info.Executable = f.executable
	}
}
