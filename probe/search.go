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
	m.truncated = false
	m.unsearched = m.unsearched[:0]
	for t, a := range m.attempts {
		m.truncated = m.truncated || a.listing.truncated
		if t.pid != 0 && !wanted[t.pid] && !a.busy {
			delete(m.attempts, t)
		}
	}
	for _, p := range m.byProcess {
		if p.ended != nil {
			delete(wanted, p.process.PID)
		}
	}
	m.wanted = wanted
	m.pause = time.Duration(len(wanted)) * time.Second / sharedSearches
	now := time.Now()
	for pid := range wanted {
		if a := m.attempts[target{pid: pid}]; a == nil || !a.busy && !now.Before(a.notBefore) {
			m.unsearched = append(m.unsearched, pid)
		}
	}
	m.searchNext(ctx)
}

// searchNext starts as many searches as may run at a time. The end of one starts the
// next. The lock is held.
func (m *Monitor) searchNext(ctx context.Context) {
	for m.searching < maxSearches && len(m.unsearched) > 0 && ctx.Err() == nil {
		pid := m.unsearched[len(m.unsearched)-1]
		m.unsearched = m.unsearched[:len(m.unsearched)-1]
		if !m.wanted[pid] {
			continue // list has found it since
		}
		truncated, pause := m.truncated, m.pause
		m.searching++
		m.startTask(target{pid: pid}, func(a *attempt) {
			defer m.locked(func() {
				m.searching--
				m.searchNext(ctx)
			})
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
