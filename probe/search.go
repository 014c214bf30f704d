package probe

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// errListed is of a process whose probe is found by listing directories, if it has
// one, and which is not searched.
var errListed = fmt.Errorf("%w in the directories that are listed", ErrNoProbe)

// searchListed starts the search for the probes of the driver's processes, in
// the directories where each would serve. The lock is held.
func (m *Monitor) searchListed(ctx context.Context) {
	wanted := m.wanted
	clear(wanted)
	for _, pids := range m.listed {
		for _, pid := range pids {
			wanted[pid] = true
		}
	}
	m.truncated = len(m.others) >= maxOthers
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
	m.pause = time.Duration(len(wanted)) * time.Second / sharedSearches
	now := time.Now()
	for pid := range wanted {
		a := m.attempts[target{pid: pid}]
		if a == nil || !a.busy && (!now.Before(a.notBefore) || m.truncated && errors.Is(a.err, errListed)) {
			m.unsearched = append(m.unsearched, pid)
		}
	}
	m.startSearches(ctx)
}

// startSearches starts as many searches as may run at a time: a goroutine for each process
// would take longer than its search. The lock is held.
func (m *Monitor) startSearches(ctx context.Context) {
	for range min(maxSearches-m.searching, len(m.unsearched)) {
		m.searching++
		m.pending++
		m.start(func() { m.search(ctx) })
	}
}

// search searches for the probes of processes that are due, one after the other.
func (m *Monitor) search(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() {
		m.searching--
		m.done()
	}()
	for len(m.unsearched) > 0 && ctx.Err() == nil {
		pid := m.unsearched[len(m.unsearched)-1]
		m.unsearched = m.unsearched[:len(m.unsearched)-1]
		if !m.wanted[pid] {
			continue // list has found it since
		}
		a := m.attemptOn(target{pid: pid})
		a.busy = true
		m.searchFor(ctx, pid, a)
		a.busy = false
	}
}

// searchFor searches for the probe of a process. The lock is held, and released meanwhile.
func (m *Monitor) searchFor(ctx context.Context, pid int, a *attempt) {
	truncated, pause, before := m.truncated, m.pause, a.err
	m.mu.Unlock()
	defer m.mu.Lock()
	if len(a.without) > 0 && m.finder.unchanged(pid, a.without, a.searched) {
		m.connected(ctx, a, nil, before, searchRetryLimit)
		return
	}
	a.searched, a.without = time.Now(), nil
	listed := !truncated && m.isListed(pid)
	shared := listed
	var client *Client
	err := errListed
	if !listed {
		var s sought
		if s, err = m.finder.seek(pid); err == nil {
			client, err = m.finder.open(&s)
			a.without = s.without
			shared = !truncated && m.finder.sharesMounts(s)
		}
	}
	longest := searchRetryLimit
	if shared {
		longest = sharedRetryLimit // list finds it as well, unless its environment names another directory
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
}

// isListed reports whether list finds the probe of a process, if it has one: it has
// this program's view of files and users, and its environment names no directory that
// is not listed. That takes a quarter of the system calls of a search.
func (m *Monitor) isListed(pid int) bool {
	if !m.wider || !m.finder.sharesView(pid) {
		return false
	}
	runtime, err := m.finder.runtimeOf(pid)
	if err != nil {
		return false
	}
	_, numeric := parseUser(filepath.Base(runtime))
	path := filepath.Join(runtime, directoryName)
	if !filepath.IsAbs(runtime) || slices.Contains(m.own, path) || m.everyone && numeric && filepath.Dir(runtime) == "/run/user" {
		return true
	}
	if who, err := ownerOf(m.finder.proc, pid); err == nil && (m.everyone || who.uid == m.finder.uid) {
		m.locked(func() { m.noteNamed(path, who.uid) })
	}
	return false
}

// named is a directory that a process's environment names, and that is listed for some
// time, since the process may start a probe later.
type named struct {
	uid   uint32
	until time.Time
}

const (
	maxNamed  = 32
	namedTime = 10 * time.Minute // longer than between two searches of a process
)

// noteNamed has a directory listed from now on. The lock is held.
func (m *Monitor) noteNamed(path string, uid uint32) {
	if _, known := m.named[path]; known || len(m.named) < maxNamed {
		m.named[path] = named{uid, time.Now().Add(namedTime)}
	}
}

// listNamed lists the directories that only environments name. The lock is held.
func (m *Monitor) listNamed(ctx context.Context) {
	for path, n := range m.named {
		if time.Now().After(n.until) {
			delete(m.named, path)
			m.forget(path, nil)
			continue
		}
		m.list(ctx, path, func() uint32 { return n.uid })
	}
}
