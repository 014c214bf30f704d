package process

import "time"

// refresh reads the facts of entries, several at once, and waits for what
// comes in time.
func (t *Table) refresh(now time.Time, entries []*entry) {
	if len(entries) == 0 {
		return
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	late := t.launch(now, entries, deadline.C)
	var asked []<-chan struct{}
	for _, e := range entries {
		if e.pending != nil && !e.await(deadline.C, late) {
			late = true
			continue
		}
		if uid, ok := e.info.UID.Value(); ok {
			asked = append(asked, t.users.ask(uid))
			e.info.User = ""
		}
	}
	for _, answered := range asked {
		if late {
			break
		}
		select {
		case <-answered:
		case <-deadline.C:
			late = true
		}
	}
}

// nameUser takes the user's name in when it has come.
func (e *entry) nameUser(users *users) {
	if uid, ok := e.info.UID.Value(); ok && e.info.User == "" {
		e.info.User = users.name(uid)
	}
}

// launch starts the reads that are not under way yet. It reports whether the
// deadline passed meanwhile.
func (t *Table) launch(now time.Time, entries []*entry, deadline <-chan time.Time) (late bool) {
	for _, e := range entries {
		if e.pending != nil {
			continue
		}
		select {
		case t.slots <- struct{}{}:
		case <-deadline:
			return true
		}
		e.refreshed = now
		e.pending = make(chan facts, 1)
		go func(pid int, answer chan<- facts) {
			answer <- t.read(t.root, pid, t.hostname)
			<-t.slots
		}(e.info.Identity.PID, e.pending)
	}
	return false
}

// await takes the facts in, until the deadline; once that is past, only if
// they are there. It reports whether they came.
func (e *entry) await(deadline <-chan time.Time, late bool) bool {
	var f facts
	if late {
		select {
		case f = <-e.pending:
		default:
			return false
		}
	} else {
		select {
		case f = <-e.pending:
		case <-deadline:
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
