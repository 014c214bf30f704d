package probe

import (
	"context"
	"time"
)

// searchListed starts the search for the probes of the driver's processes, in
// the directories where each would serve. The lock is held.
func (m *Monitor) searchListed(ctx context.Context) {
	wanted := make(map[int]bool)
	for _, pids := range m.listed {
		for _, pid := range pids {
			wanted[pid] = true
		}
	}
	truncated := false
	m.unsearched = false
	for t, a := range m.attempts {
		truncated = truncated || a.listing.truncated
		if t.pid != 0 && !wanted[t.pid] && !a.busy {
			delete(m.attempts, t)
		}
	}
	for _, p := range m.byProcess {
		if p.ended != nil {
			delete(wanted, p.process.PID)
		}
	}
	pause := time.Duration(len(wanted)) * time.Second / sharedSearches
	for pid := range wanted {
		t := target{pid: pid}
		if a := m.attempts[t]; a != nil && time.Now().Before(a.notBefore) {
			continue
		}
		if m.searching >= maxSearches {
			m.unsearched = true // the end of one starts the next
			return
		}
		m.startTask(t, func(a *attempt) {
			client, err := m.finder.Open(pid)
			longest, shared := searchRetryLimit, false
			if !truncated && m.finder.sharesMounts(pid) {
				longest, shared = sharedRetryLimit, true // list finds it as well, unless its environment names another directory
				m.locked(func() { a.failures = max(a.failures, sharedFailures) })
			}
			m.connected(ctx, a, client, err, longest)
			if err != nil && shared {
				m.locked(func() {
					if later := time.Now().Add(pause); a.notBefore.Before(later) {
						a.notBefore = later
					}
				})
			}
		})
	}
}
