package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// scan starts every task that is due. It waits for none.
func (m *Monitor) scan(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reap()
	if m.wider && time.Since(m.othersAt) >= othersInterval {
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

// startTask runs act on a goroutine of its own, unless an earlier one for this target still runs.
// The lock is held; act is called without it.
func (m *Monitor) startTask(t target, act func(*attempt)) {
	a := m.attemptOn(t)
	if a.busy {
		return
	}
	a.busy = true
	m.pending++
	m.start(func() {
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			a.busy = false
			m.done()
		}()
		act(a)
	})
}

// locked calls act with the lock. It releases the lock even if act panics, so that Run can end.
func (m *Monitor) locked(act func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	act()
}

// done counts down pending, for which Settle waits. The lock is held.
func (m *Monitor) done() {
	m.pending--
	m.changed.Broadcast()
}

// list lists a directory of the user that owner returns, and visits the sockets and records in it.
func (m *Monitor) list(ctx context.Context, path string, owner func() uint32) {
	m.startTask(target{directory: path}, func(a *attempt) {
		dir, err := openDirectory(path, owner())
		var found listing
		if err == nil {
			defer dir.close()
			found, err = a.listing.refresh(dir)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // no probe serves there
		}
		m.locked(func() {
			a.err, a.listing = err, found
			m.forget(path, found.names)
		})
		defer m.locked(func() { a.left = nil })
		for i, name := range found.names {
			if ctx.Err() != nil {
				return
			}
			m.locked(func() { a.left = found.names[i:] })
			m.visit(ctx, dir, target{directory: path, name: name})
		}
	})
}

// visit connects to one socket, or reads one record, if it is due.
func (m *Monitor) visit(ctx context.Context, dir *directory, t target) {
	var a *attempt
	due := false
	m.locked(func() {
		a = m.attemptOn(t)
		due = a.due()
	})
	if !due {
		return
	}
	if socket, ok := socketOf(t.name); ok {
		p, err := m.finder.record(dir, t.name, socket, m.clock())
		m.locked(func() { m.recorded(a, p, err) })
		return
	}
	client, err := m.finder.visit(dir, t.name)
	m.connected(ctx, a, client, err, connectRetryLimit)
}

// connected starts a session on a new connection, unless its process has a session; or it records err.
func (m *Monitor) connected(ctx context.Context, a *attempt, client *Client, err error, longest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		a.probe = nil
		a.fail(err, longest)
		return
	}
	delete(m.wanted, client.process.PID)
	p := m.byProcess[client.process.Key()]
	if p != nil && p.answer.Load().Exited != nil {
		p = nil // a connection replaces a record
	}
	if p == nil && m.hasCapacity(client.uid) {
		p = newProbeProcess(client.process, client.uid, m.clock())
		m.byProcess[client.process.Key()] = p
		m.publish()
	}
	switch {
	case p == nil:
		a.fail(errTooManyProbes, connectRetryLimit)
	case p.ended != nil || ctx.Err() != nil:
		a.probe = p // another target has led to p already, or Run is ending
	default:
		a.probe, a.err = p, nil
		p.ended = make(chan struct{})
		m.pending++
		m.start(func() { m.attend(ctx, a, p, client) })
		return
	}
	_ = client.Close() // nothing was sent on it
}

var errTooManyProbes = fmt.Errorf("too many probes: the limit is %d, %d of one user", maxProbes, maxProbesPerUser)

// hasCapacity reports whether the limits allow another probe of the user. The lock is held.
func (m *Monitor) hasCapacity(uid uint32) bool {
	ofUser := 0
	for _, p := range m.byProcess {
		if p.uid == uid {
			ofUser++
		}
	}
	return len(m.byProcess) < maxProbes && ofUser < maxProbesPerUser
}

func (m *Monitor) attend(ctx context.Context, a *attempt, p *probeProcess, client *Client) {
	first := sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if p.answer.Load().Err == nil {
			a.failures = 0
		}
		m.done()
	})
	s := session{probe: p, client: client, clock: m.clock, interval: m.interval}
	err := s.run(ctx, first)
	first()

	m.mu.Lock()
	defer m.mu.Unlock()
	close(p.ended)
	p.ended, p.lostAt = nil, time.Now()
	if err != nil {
		a.fail(err, connectRetryLimit)
	}
	if m.mayForget(p) {
		m.remove(p)
	}
}

// mayForget reports whether a probe may be forgotten: its process has exited without a last report,
// or its connection ended more than forgetTime ago.
func (m *Monitor) mayForget(p *probeProcess) bool {
	return !p.final.Load() && !m.alive(p) || p.ended == nil && time.Since(p.lostAt) > forgetTime
}

func (m *Monitor) alive(p *probeProcess) bool {
	now, err := m.finder.table.Identify(p.process.PID)
	return err == nil && now.Key() == p.process.Key()
}

// remove forgets a probe process. The lock is held.
func (m *Monitor) remove(p *probeProcess) {
	delete(m.byProcess, p.process.Key())
	m.publish()
}

// reap forgets every probe that does not answer and may be forgotten. An open connection does not
// prove that the process lives: a forked child may hold its socket. The lock is held.
func (m *Monitor) reap() {
	for _, p := range m.byProcess {
		answering := p.ended != nil && p.answer.Load().Err == nil
		if !answering && m.mayForget(p) {
			m.remove(p)
		}
	}
}

// publish makes the content of byProcess readable without the lock. The lock is held.
func (m *Monitor) publish() {
	probes := slices.SortedFunc(maps.Values(m.byProcess), func(a, b *probeProcess) int { return a.process.PID - b.process.PID })
	m.published.Store(&probes)
}

// Settle waits until every probe that can be found has been asked once, or the context ends.
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

// Unasked counts the processes whose probe has not been asked yet: sockets that were not visited,
// processes on a GPU that were not searched for a probe, and probes that have neither answered nor
// failed. It is 0 once the monitor has settled.
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
			// The pid is from the process's own namespace, and may differ here.
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
