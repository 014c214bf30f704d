package probe

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"vramscope/internal/process"
)

// seat is one probe process at the monitor's table. It outlives its
// connection: what was said last stays, with its age.
type probeProcess struct {
	process process.Identity
	uid     uint32
	answer  atomic.Pointer[Answer] // never nil
	asked   chan struct{}          // one slot
	jobs    chan job

	// Under the monitor's lock.
	ended  chan struct{} // closed when the connection has; nil without one
	lostAt time.Time
}

// job is a flush on its way to a seat.
type job struct {
	ctx     context.Context
	request FlushRequest
	done    chan<- flushed // one slot
}

type flushed struct {
	result FlushResult
	err    error
}

func newProbeProcess(id process.Identity, uid uint32, now time.Time) *probeProcess {
	s := &probeProcess{process: id, uid: uid, asked: make(chan struct{}, 1), jobs: make(chan job)}
	s.answer.Store(&Answer{Process: id, Since: now})
	return s
}

const (
	// A probe that is silent for so long on one connection gets a new one.
	reconnectTime = time.Minute
	// A program imports another library when it likes.
	helloEvery = 30 * time.Second
	// The sizes of its own caches change all the time.
	cachesEvery = 5 * time.Second
)

// session is the life of one connection. Only its own goroutine touches it.
type session struct {
	probe    *probeProcess
	client   *Client
	clock    func() time.Time
	interval time.Duration
	helloAt  time.Time // zero before the first
	heard    time.Time // last answer of any kind, at first the connecting
	lastAsk  time.Time // last question that came of an Ask
}

// run talks until the connection breaks, which is what it returns, or the
// context ends. First is called after the first exchange, if there is one.
func (s *session) run(ctx context.Context, first func()) error {
	defer func() { _ = s.client.Close() }()
	s.heard = time.Now()
	for {
		err := s.exchange(ctx)
		first()
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err == nil, isRefusal(err):
			s.heard = time.Now()
		case !errors.Is(err, ErrLate) || time.Since(s.heard) > reconnectTime:
			return err
		}
		if err := s.rest(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// exchange asks once and publishes what comes of it.
func (s *session) exchange(ctx context.Context) error {
	next := *s.probe.answer.Load()
	next.Err = s.ask(ctx, &next)
	if ctx.Err() != nil {
		return next.Err // nobody's failure
	}
	s.probe.answer.Store(&next)
	return next.Err
}

func (s *session) ask(ctx context.Context, next *Answer) error {
	every := helloEvery
	if len(next.Hello.Evictable) > 0 {
		every = cachesEvery
	}
	if time.Since(s.helloAt) > every {
		hello, err := s.client.Hello(ctx)
		if err != nil {
			return err
		}
		s.helloAt, next.Hello = time.Now(), hello
	}
	report, err := s.client.Stats(ctx)
	if err != nil {
		return err
	}
	next.Report, next.At = report, readAt(s.clock(), report.TimeNS)
	return nil
}

// readAt is when a report's figures were true, by its own word, on the
// monitor's clock. A probe may hand out a reading that it took a while ago;
// it cannot have taken it after it arrived.
func readAt(arrival time.Time, ns int64) time.Time {
	if age := arrival.UnixNano() - ns; age > 0 {
		return arrival.Add(-time.Duration(age))
	}
	return arrival
}

// rest waits until it is time for the next question, and flushes meanwhile.
func (s *session) rest(ctx context.Context) error {
	idle := time.NewTimer(s.interval + s.interval/2)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-idle.C:
			return nil
		case <-s.probe.asked:
			// Asks a little early are in time: who asks once a second does not
			// do it to the millisecond.
			if now := time.Now(); now.Sub(s.lastAsk) >= s.interval-s.interval/20 {
				s.lastAsk = now
				return nil
			}
		case j := <-s.probe.jobs:
			result, err := s.client.Flush(j.ctx, j.request)
			j.done <- flushed{result, err}
			s.helloAt = time.Time{} // its own caches may have been emptied
			if err == nil || isRefusal(err) || errors.Is(err, ErrLate) || j.ctx.Err() != nil {
				return nil // and ask at once what it has changed
			}
			return err
		}
	}
}
