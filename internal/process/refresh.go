package process

import "time"

// waiting is how long one call waits for facts: as long as they keep coming,
// because a first look may have a thousand processes to read on a busy
// machine, but no longer than its patience for any one of them.
type waiting struct {
	patience time.Duration
	timer    *time.Timer
	until    time.Time // the end in any case
	late     bool
}

// longestWait is the end where every answer takes almost all the patience
// that there is for it.
const longestWait = time.Second

func newWaiting(patience time.Duration) *waiting {
	return &waiting{
		patience: patience,
		timer:    time.NewTimer(patience),
		until:    time.Now().Add(max(patience, longestWait)),
	}
}

// progress starts the patience anew.
func (w *waiting) progress() {
	if left := time.Until(w.until); left > 0 {
		w.timer.Reset(min(w.patience, left))
	}
}

// refresh reads the facts of entries, several at once, and waits for what
// comes in time.
func (t *Table) refresh(now time.Time, entries []*entry) {
	if len(entries) == 0 {
		return
	}
	wait := newWaiting(t.Patience)
	defer wait.timer.Stop()
	t.launch(now, entries, wait)
	var asked []<-chan struct{}
	for _, e := range entries {
		if e.pending != nil && !e.await(wait) {
			continue
		}
		if uid, ok := e.info.UID.Value(); ok {
			asked = append(asked, t.users.ask(uid))
			e.info.User = ""
		}
	}
	for _, answered := range asked {
		if wait.late {
			break
		}
		select {
		case <-answered:
		case <-wait.timer.C:
			wait.late = true
		}
	}
}

// nameUser takes the user's name in when it has come.
func (e *entry) nameUser(users *users) {
	if uid, ok := e.info.UID.Value(); ok && e.info.User == "" {
		e.info.User = users.name(uid)
	}
}

// launch starts the reads that are not under way yet.
func (t *Table) launch(now time.Time, entries []*entry, wait *waiting) {
	for _, e := range entries {
		if e.pending != nil {
			continue
		}
		select {
		case t.slots <- struct{}{}:
			wait.progress()
		case <-wait.timer.C:
			wait.late = true
			return
		}
		e.refreshed = now
		e.pending = make(chan facts, 1)
		go func(pid int, answer chan<- facts) {
			answer <- t.read(t.root, pid, t.hostname)
			<-t.slots
		}(e.info.Identity.PID, e.pending)
	}
}

// await takes the facts in, while there is patience; once that is over, only
// if they are there. It reports whether they came.
func (e *entry) await(wait *waiting) bool {
	var f facts
	select {
	case f = <-e.pending: // before the timer, which may have run out as well
	default:
		if wait.late {
			return false
		}
		select {
		case f = <-e.pending:
			wait.progress()
		case <-wait.timer.C:
			wait.late = true
			return false
		}
	}
	e.pending = nil
	e.info.UID, e.info.Job = f.uid, f.job
	// A process that is exiting has no command line any more; what it was is
	// still what it was.
	if len(f.command) > 0 {
		e.info.Command = f.command
	}
	if f.executable != "" {
		e.info.Executable = f.executable
	}
	return true
}
