package probe

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"vramscope/internal/process"
)

// probeProcess is one probe process that the monitor knows. It outlives its
// connection: the last answer stays, with its age.
type probeProcess struct {
	process process.Identity
	uid     uint32
	answer  atomic.Pointer[Answer] // never nil
	final   atomic.Bool            // the answer is the last: the process exits
	asked   chan struct{}          // one slot
	jobs    chan job

	// Under the monitor's lock.
	ended  chan struct{} // closed when the connection has ended; nil without one
	lostAt time.Time
}

// job is a flush that a session is to run or, if fresh is set, a question for current figures.
type job struct {
	ctx     context.Context
	request FlushRequest
	fresh   bool
	done    chan<- flushed // one slot
}

type flushed struct {
	result FlushResult
	err    error
}

func newProbeProcess(id process.Identity, uid uint32, now time.Time) *probeProcess {
	p := &probeProcess{process: id, uid: uid, asked: make(chan struct{}, 1), jobs: make(chan job)}
	p.answer.Store(&Answer{Process: id, Since: now})
	return p
}

const (
	// A probe that does not answer for this long gets a new connection.
	reconnectTime = time.Minute
	// Hello is repeated, because a program may import another library at any time.
	helloInterval = 30 * time.Second
	// Hello is repeated more often if the program has registered caches, because their sizes change.
	cachesInterval = 5 * time.Second
)

// session asks one probe over one connection. Only its own goroutine uses it.
type session struct {
	probe    *probeProcess
	client   *Client
	clock    func() time.Time
	interval time.Duration
	helloAt  time.Time        // zero before the first
	lastSeen time.Time        // when the last answer of any kind came, or the connection began
	lastAsk  time.Time        // when an Ask last caused a question
	fresh    []chan<- flushed // the callers of Renew wait on these
}

// run asks for stats until the connection breaks or the context ends. It returns why the connection
// broke, or nil. It calls first after every exchange.
func (s *session) run(ctx context.Context, first func()) error {
	defer func() { _ = s.client.Close() }()
	defer s.renewed()
	s.lastSeen = time.Now()
	for {
		err := s.exchange(ctx)
		s.renewed()
		first()
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err == nil, isRefusal(err):
			s.lastSeen = time.Now()
		case !errors.Is(err, ErrLate) || time.Since(s.lastSeen) > reconnectTime:
			return err
		}
		if err := s.wait(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

func (s *session) renewed() {
	for _, done := range s.fresh {
		done <- flushed{}
	}
	s.fresh = nil
}

// exchange asks once and publishes the answer.
func (s *session) exchange(ctx context.Context) error {
	next := *s.probe.answer.Load()
	next.Err = s.ask(ctx, &next)
	if ctx.Err() != nil {
		return next.Err // not the probe's failure
	}
	s.probe.final.Store(s.client.last)
	s.probe.answer.Store(&next)
	return next.Err
}

func (s *session) ask(ctx context.Context, next *Answer) error {
	if s.helloAt.IsZero() {
		if err := s.hello(ctx, next); err != nil {
			return err
		}
	}
	report, err := s.client.Stats(ctx, len(s.fresh) > 0)
	if err != nil {
		return err
	}
	now := s.clock()
	if err := report.checkTimes(now, s.probe.process.StartTime); err != nil {
		return s.client.broken(cmdStats, err)
	}
	if next.At.IsZero() || next.Report.TimeNS != report.TimeNS {
		next.Arrived = now
	}
	next.Report, next.At = report, readAt(now, report.TimeNS)
	interval := helloInterval
	if len(next.Hello.Evictable) > 0 {
		interval = cachesInterval
	}
	if s.client.last || time.Since(s.helloAt) <= interval {
		return nil
	}
	return s.hello(ctx, next)
}

func (s *session) hello(ctx context.Context, next *Answer) error {
	hello, err := s.client.Hello(ctx)
	if err == nil {
		s.helloAt, next.Hello = time.Now(), hello
	}
	return err
}

// readAt returns the time of a reading: ns, but never later than its arrival.
func readAt(arrival time.Time, ns int64) time.Time {
	if age := arrival.UnixNano() - ns; age > 0 {
		return arrival.Add(-time.Duration(age))
	}
	return arrival
}

// wait waits until the next question is due. A flush, or a call of Renew, ends the wait.
func (s *session) wait(ctx context.Context) error {
	idle := time.NewTimer(2 * s.interval)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-idle.C:
			return nil
		case <-s.probe.asked:
			// Callers do not ask to the millisecond, so up to 5 % early is in time.
			if now := time.Now(); now.Sub(s.lastAsk) >= s.interval-s.interval/20 {
				s.lastAsk = now
				return nil
			}
		case j := <-s.probe.jobs:
			if j.fresh {
				s.fresh = append(s.fresh, j.done)
				return nil
			}
			err := s.flush(j)
			s.helloAt = time.Time{} // the sizes of the program's caches may have changed
			if err == nil || isRefusal(err) || errors.Is(err, ErrLate) || j.ctx.Err() != nil {
				return nil // ask at once for the new stats
			}
			return err
		}
	}
}

// flush runs a job, and sends a result even after a panic, because the caller waits for it.
func (s *session) flush(j job) error {
	f := flushed{err: errClosed}
	defer func() { j.done <- f }()
	f.result, f.err = s.client.Flush(j.ctx, j.request)
	return f.err
}
