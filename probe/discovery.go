package probe

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// target is what may lead to a probe: a socket by its path, or a process.
type target struct {
	directory string
	name      string
	pid       int
}

func (t target) path() string { return filepath.Join(t.directory, t.name) }

// attempt is what came of a target. An errand that hangs stays busy: it is
// never started a second time.
type attempt struct {
	busy      bool
	failures  int
	notBefore time.Time     // on the real clock
	probe     *probeProcess // that it led to
	err       error
	listing   listing // of a directory
}

func (a *attempt) fail(err error, most time.Duration) {
	a.err = err
	a.notBefore = time.Now().Add(min(time.Second<<min(a.failures, 10), most))
	a.failures++
}

// How seldom a target that failed is tried again in the end.
const (
	searchRetryLimit  = 5 * time.Second  // a process in a container, which may get a probe yet
	connectRetryLimit = 30 * time.Second // a socket that nobody listens on, a probe that breaks the protocol
)

// look starts whatever is due, and waits for nothing.
func (m *Monitor) look(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reap()
	if m.everyone && time.Since(m.othersAt) >= othersEvery {
		m.othersAt = time.Now()
		m.startTask(target{directory: "/run/user"}, func(*attempt) { m.findOthers() })
	}
	for _, path := range m.own {
		m.list(ctx, path, func() uint32 {
			// After su, XDG_RUNTIME_DIR may still be another user's.
			if owner, ok := ownerAt(path); ok && m.everyone {
				return owner
			}
			return m.finder.uid
		})
	}
	for path, uid := range m.others {
		m.list(ctx, path, func() uint32 { return uid })
	}
	m.searchListed(ctx)
	m.dirty = false
	m.changed.Broadcast()
}

// errand runs act on a goroutine of its own, unless it still runs from the
// last time. The lock is held; act is called without it.
func (m *Monitor) startTask(t target, act func(*attempt)) {
	a := m.attempts[t]
	if a == nil {
		a = &attempt{}
		m.attempts[t] = a
	}
	if a.busy {
		return
	}
	a.busy = true
	m.pending++
	if t.pid != 0 {
		m.searching++
	}
	m.start(func() {
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			a.busy = false
			if t.pid != 0 {
				m.searching--
			}
			m.done()
		}()
		act(a)
	})
}

// done ends something that Settle waits for. The lock is held.
func (m *Monitor) done() {
	m.pending--
	m.changed.Broadcast()
}

// list looks into a directory, which must be of the user that whose tells, and
// connects to what is new there.
func (m *Monitor) list(ctx context.Context, path string, whose func() uint32) {
	m.startTask(target{directory: path}, func(a *attempt) {
		dir, err := openDirectory("/", path, whose())
		var found listing
		if err == nil {
			defer dir.close()
			found, err = a.listing.refresh(dir)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // nobody serves there
		}
		m.mu.Lock()
		a.err, a.listing = err, found
		m.forget(path, found.names)
		m.mu.Unlock()
		for _, name := range found.names {
			if ctx.Err() != nil {
				return
			}
			m.visit(ctx, dir, target{directory: path, name: name})
		}
	})
}

// forget drops the attempts on sockets that are gone from a directory, and
// the one on the directory when all are, unless it hangs. The lock is held.
func (m *Monitor) forget(path string, names []string) {
	for t, a := range m.attempts {
		if t.directory == path && !a.busy && !slices.Contains(names, t.name) {
			delete(m.attempts, t)
		}
	}
}

// visit connects to one socket if it is due.
func (m *Monitor) visit(ctx context.Context, dir *directory, t target) {
	m.mu.Lock()
	a := m.attempts[t]
	if a == nil {
		a = &attempt{}
		m.attempts[t] = a
	}
	due := (a.probe == nil || a.probe.ended == nil) && !time.Now().Before(a.notBefore)
	m.mu.Unlock()
	if !due {
		return
	}
	client, err := m.finder.visit(dir, t.name)
	m.arrive(ctx, a, client, err, connectRetryLimit)
}

// searchListed looks for the probes of the driver's processes where they
// themselves would have put them. The lock is held.
func (m *Monitor) searchListed(ctx context.Context) {
	wanted := make(map[int]bool)
	for _, pids := range m.listed {
		for _, pid := range pids {
			wanted[pid] = true
		}
	}
	truncated := false
	for t, a := range m.attempts {
		truncated = truncated || a.listing.truncated
		if t.pid != 0 && !wanted[t.pid] && !a.busy {
			delete(m.attempts, t)
		}
	}
	for _, s := range m.byProcess {
		if s.ended != nil {
			delete(wanted, s.process.PID)
		}
	}
	for pid := range wanted {
		t := target{pid: pid}
		if a := m.attempts[t]; a != nil && time.Now().Before(a.notBefore) {
			continue
		}
		if m.searching >= maxSearches {
			return
		}
		m.startTask(t, func(a *attempt) {
			client, err := m.finder.Open(pid)
			longest := searchRetryLimit
			if !truncated && m.finder.sharesMounts(pid) {
				longest = connectRetryLimit // where it would be found, list looks anyway
			}
			m.arrive(ctx, a, client, err, longest)
		})
	}
}

// arrive gives a connection to its seat, or remembers why there is none.
func (m *Monitor) arrive(ctx context.Context, a *attempt, client *Client, err error, longest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		a.probe = nil
		a.fail(err, longest)
		return
	}
	s := m.byProcess[keyOf(client.process)]
	if s == nil && m.hasCapacity(client.uid) {
		s = newProbeProcess(client.process, client.uid, m.clock())
		m.byProcess[keyOf(client.process)] = s
		m.publish()
	}
	switch {
	case s == nil:
		a.fail(errTooManyProbes, connectRetryLimit)
	case s.ended != nil || ctx.Err() != nil:
		a.probe = s // it has a connection: this one led there too
	default:
		a.probe, a.err = s, nil
		s.ended = make(chan struct{})
		m.pending++
		m.start(func() { m.attend(ctx, a, s, client) })
		return
	}
	_ = client.Close() // nothing was said on it
}

var errTooManyProbes = errors.New("too many probes: " + strconv.Itoa(maxProbes) + " are read, " + strconv.Itoa(maxProbesPerUser) + " of one user")

// hasCapacity reports whether another probe of that user can be read. The lock is
// held.
func (m *Monitor) hasCapacity(uid uint32) bool {
	taken := 0
	for _, s := range m.byProcess {
		if s.uid == uid {
			taken++
		}
	}
	return len(m.byProcess) < maxProbes && taken < maxProbesPerUser
}

// attend runs a connection and tidies up after it.
func (m *Monitor) attend(ctx context.Context, a *attempt, s *probeProcess, client *Client) {
	begun := false
	first := func() {
		if begun {
			return
		}
		begun = true
		m.mu.Lock()
		defer m.mu.Unlock()
		if s.answer.Load().Err == nil {
			a.failures = 0
		}
		m.done()
	}
	talk := session{probe: s, client: client, clock: m.clock, interval: m.interval}
	err := talk.run(ctx, first)
	first()

	m.mu.Lock()
	defer m.mu.Unlock()
	close(s.ended)
	s.ended, s.lostAt = nil, time.Now()
	if err != nil {
		a.fail(err, connectRetryLimit)
	}
	if !m.lives(s) {
		m.leave(s)
	}
}

// lives reports whether the seat's process is still there.
func (m *Monitor) lives(s *probeProcess) bool {
	now, err := m.finder.table.Identify(s.process.PID)
	return err == nil && keyOf(now) == keyOf(s.process)
}

// leave forgets a seat. The lock is held.
func (m *Monitor) leave(s *probeProcess) {
	delete(m.byProcess, keyOf(s.process))
	m.publish()
}

// reap forgets the probes whose processes have ended. A probe's forked child
// may hold the connection open when the probe has died: it is the answers
// that tell. The lock is held.
func (m *Monitor) reap() {
	for _, s := range m.byProcess {
		connected := s.ended != nil
		if connected && s.answer.Load().Err == nil {
			continue
		}
		if !m.lives(s) || !connected && time.Since(s.lostAt) > forgetTime {
			m.leave(s)
		}
	}
}

// publish makes the probes visible to who must not wait. The lock is held.
func (m *Monitor) publish() {
	probes := make([]*probeProcess, 0, len(m.byProcess))
	for _, s := range m.byProcess {
		probes = append(probes, s)
	}
	slices.SortFunc(probes, func(a, b *probeProcess) int { return a.process.PID - b.process.PID })
	m.published.Store(&probes)
}
