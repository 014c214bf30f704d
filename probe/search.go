package probe

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// searchListed searches for the probes of the processes that the driver lists, in the directories
// where each would serve. It does not wait. The lock is held.
func (m *Monitor) searchListed(ctx context.Context) {
	wanted := m.wanted
	clear(wanted)
	for _, pids := range m.listed {
		for _, pid := range pids {
			wanted[pid] = true
		}
	}
	m.unsearched = m.unsearched[:0]
	for t, a := range m.attempts {
		if t.pid != 0 && !wanted[t.pid] && !a.busy {
			delete(m.attempts, t)
		}
	}
	for _, p := range m.byProcess {
		if p.ended != nil {
			delete(wanted, p.process.PID)
		}
	}
	now := time.Now()
	for pid := range wanted {
		a := m.attempts[target{pid: pid}]
		if a == nil || !a.busy && !now.Before(a.notBefore) {
			m.unsearched = append(m.unsearched, pid)
		}
	}
	m.startSearches(ctx)
}

// startSearches starts up to maxSearches goroutines, each for several processes: starting a
// goroutine takes longer than one search. The lock is held.
func (m *Monitor) startSearches(ctx context.Context) {
	for range min(maxSearches-m.searching, len(m.unsearched)) {
		m.searching++
		m.pending++
		m.start(func() { m.search(ctx) })
	}
}

// search searches for the probes of the processes that are due, one at a time.
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
			continue // it has got a connection
		}
		a := m.attemptOn(target{pid: pid})
		a.busy = true
		m.searchFor(ctx, pid, a)
		a.busy = false
	}
}

// searchFor searches for the probe of a process. It is called with the lock, which it releases meanwhile.
func (m *Monitor) searchFor(ctx context.Context, pid int, a *attempt) {
	m.mu.Unlock()
	defer m.mu.Lock()
	client, err := m.finder.Open(pid)
	m.connected(ctx, a, client, err, searchRetryLimit)
}

const (
	othersInterval = 10 * time.Second
	maxOthers      = 512
	// How many names of a directory are read. A probe whose socket comes after them is found only if
	// the driver lists its process.
	maxNamesRead      = 16 << 10
	maxTemporaryNames = 64 << 10 // read of /tmp, to find users' directories
)

// findOthers finds the directories that are not known by name: this user's spare ones, and for root
// every user's. A directory must belong to the user after whom it is named, because anybody may
// create any name in /tmp.
func (m *Monitor) findOthers() {
	found := make(map[string]uint32)
	spares := make(map[uint32]int)
	for _, parent := range []struct{ path, prefix, below string }{
		{"/run/user", "", directoryName}, {temporary, directoryName + "-", ""},
	} {
		for _, name := range namesIn(parent.path, parent.prefix) {
			number, _, spare := strings.Cut(strings.TrimPrefix(name, parent.prefix), "-")
			uid, ok := parseUser(number)
			own := uid == m.finder.uid
			if !ok || own && !spare || !own && !m.everyone || spare && spares[uid] >= maxSpares || len(found) >= maxOthers {
				continue
			}
			path := filepath.Join(parent.path, name, parent.below)
			if owner, ok := ownerAt(path); ok && owner == uid {
				found[path] = uid
				if spare {
					spares[uid]++
				}
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for path := range m.others {
		if _, still := found[path]; !still {
			m.forget(path, nil)
		}
	}
	if !maps.Equal(m.others, found) {
		m.others = found
		m.scanNow()
	}
}

// parseUser reads a user ID as Directories writes it. It refuses leading zeros: with
// them one user could have many directories.
func parseUser(text string) (uint32, bool) {
	uid, err := strconv.ParseUint(text, 10, 32)
	return uint32(uid), err == nil && strconv.FormatUint(uid, 10) == text
}

func namesIn(path, prefix string) []string {
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	return namesWith(dir, prefix)
}

// target is what may lead to a probe: a directory of sockets, a name in it, or a process.
type target struct {
	directory string
	name      string
	pid       int
}

func (t target) path() string { return filepath.Join(t.directory, t.name) }

// attempt records the attempts on a target. While one hangs, no other is started.
type attempt struct {
	busy      bool
	failures  int
	notBefore time.Time     // by time.Now, not the monitor's clock
	probe     *probeProcess // the probe that the target led to
	err       error
	listing   listing  // the listing of a directory
	left      []string // names in a directory that are not visited yet
}

// fail records a failure. The time until the next attempt doubles up to longest.
func (a *attempt) fail(err error, longest time.Duration) {
	a.err = err
	a.notBefore = time.Now().Add(min(time.Second<<min(a.failures, 10), longest))
	a.failures++
}

// The longest time between two attempts on a target that keeps failing.
const (
	searchRetryLimit  = 15 * time.Second // a process without a probe, which may start one later
	connectRetryLimit = 30 * time.Second // for example a socket without a listener
)

// due reports whether a target without an open connection may be tried now.
func (a *attempt) due() bool {
	return (a.probe == nil || a.probe.ended == nil) && !time.Now().Before(a.notBefore)
}

// attemptOn returns the attempt on a target, and makes one if there is none. The lock is held.
func (m *Monitor) attemptOn(t target) *attempt {
	a := m.attempts[t]
	if a == nil {
		a = &attempt{}
		m.attempts[t] = a
	}
	return a
}

// forget drops the attempts in a directory, except those on these names and
// those that are busy. The lock is held.
func (m *Monitor) forget(path string, except []string) {
	maps.DeleteFunc(m.attempts, func(t target, a *attempt) bool {
		return t.directory == path && !a.busy && !slices.Contains(except, t.name)
	})
}
