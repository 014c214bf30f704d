package probe

import (
	"context"
	"strconv"
	"strings"
)

// Settle waits until every probe that can be found has been asked once, or
// the context ends.
func (m *Monitor) Settle(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changed.Broadcast()
	})
	defer stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for ctx.Err() == nil && (m.dirty || m.pending > 0) {
		m.changed.Wait()
	}
}

// Unasked counts the processes whose probes are not known to be asked: a socket
// that has not been connected to, a process of the driver's that has not been
// looked at, a probe that has neither answered nor let its time pass. It is 0 once
// the monitor has settled.
func (m *Monitor) Unasked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := make(map[int]bool)
	for _, pids := range m.listed {
		for _, pid := range pids {
			if a := m.attempts[target{pid: pid}]; a == nil || a.busy {
				found[pid] = true
			}
		}
	}
	for _, a := range m.attempts {
		for _, name := range a.left {
			// The pid is the process's own, which may be another here.
			if pid, err := strconv.Atoi(name[:max(strings.IndexByte(name, '-'), 0)]); err == nil {
				found[pid] = true
			}
		}
	}
	for _, p := range m.byProcess {
		delete(found, p.process.PID)
		if answer := p.answer.Load(); answer.At.IsZero() && answer.Err == nil {
			found[p.process.PID] = true
		}
	}
	return len(found)
}
