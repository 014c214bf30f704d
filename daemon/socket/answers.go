package socket

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"vramscope/guard"
	"vramscope/internal/bounded"
	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// serve answers a client's requests, one at a time.
func (s *Server) serve(ctx context.Context, c *client, own *budget) {
	conn := c.conn
	in := bounded.Lines(conn, maxRequest)
	defer c.end(guard.RescueOutcome{})
	for ctx.Err() == nil {
		_ = conn.SetReadDeadline(time.Now().Add(idleTime)) // a closed connection fails below
		if !in.Scan() {
			if errors.Is(in.Err(), bufio.ErrTooLong) {
				s.send(conn, encode(refuse(0, probe.BadRequest, "a request has at most %d bytes", maxRequest)))
			}
			return
		}
		var reply []byte
		var r *request // a request that waits for other processes: a rescue or a claim
		act := func() time.Duration {
			began := time.Now()
			reply, r = s.answer(in.Bytes(), c)
			// Sending takes about a nanosecond a byte.
			return time.Since(began) + requestCost + time.Duration(len(reply))
		}
		own.use(ctx, func() time.Duration {
			if c.owner {
				return act()
			}
			return s.others.use(ctx, act)
		})
		switch {
		case r != nil && r.Cmd == cmdClaim:
			s.waitForLease(ctx, c, in, r)
			return
		case r != nil:
			reply = encode(s.rescue(ctx, c, r))
		}
		if reply == nil || !s.send(conn, reply) {
			return // the daemon ends, or the client does not read
		}
	}
}

func (s *Server) send(conn *net.UnixConn, line []byte) bool {
	_ = conn.SetWriteDeadline(time.Now().Add(writeTime)) // a closed connection fails below
	_, err := conn.Write(line)
	return err == nil
}

func refuse(id uint64, code probe.Code, format string, args ...any) *answer {
	return &answer{ID: id, Error: &probe.Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// answer returns the line that answers a request. For a request that waits for other processes, it
// returns the request instead.
func (s *Server) answer(line []byte, c *client) ([]byte, *request) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return encode(refuse(0, probe.BadRequest, "a request is a JSON object")), nil
	}
	if err := r.check(); err != nil {
		return encode(refuse(r.ID, probe.BadRequest, "%v", err)), nil
	}
	switch {
	case r.Cmd == cmdRescue, r.Cmd == cmdClaim && r.WaitNS > 0:
		return nil, &r
	case r.Cmd == cmdSnapshot, r.Cmd == cmdReports:
		return s.newest(&r, c.owner), nil
	}
	return encode(s.known(&r, c)), nil
}

// known answers a request that does not wait for other processes.
func (s *Server) known(r *request, c *client) *answer {
	a := &answer{ID: r.ID, OK: true}
	switch r.Cmd {
	case cmdRescued:
		return s.rescued(c, r)
	case cmdHello:
		if !strings.HasPrefix(r.Proto+".", Version+".") {
			return refuse(r.ID, probe.WrongVersion, "the daemon speaks %s", Version)
		}
		a.Status = s.status(c.owner)
	case cmdAt:
		snap, ok := s.options.History.At(time.Unix(0, r.TimeNS))
		if !ok {
			return refuse(r.ID, notFound, "the past does not go back that far")
		}
		a.Snapshot = document(snap, c.owner)
	case cmdSpan:
		oldest, newest := s.options.History.Span()
		if !newest.IsZero() {
			a.OldestNS, a.NewestNS = oldest.UnixNano(), newest.UnixNano()
		}
	case cmdSeries:
		a.Points = points(s.options.History.Series(r.key(), time.Unix(0, r.FromNS), time.Unix(0, r.ToNS), r.Buckets))
	case cmdEvents:
		a.Events = s.events(r.Limit, c.owner)
	case cmdGuard, cmdPause:
		return s.guard(r, c.owner)
	case cmdClaim, cmdRenew, cmdRelease, cmdLeases:
		return s.lease(c, r)
	default:
		return refuse(r.ID, probe.UnknownCommand, "there is no such command")
	}
	return a
}

// cache keeps the answers about the newest snapshot, which all clients share: by command and view, as
// the text after the id.
type cache struct {
	mu     sync.Mutex
	source *snapshot.Snapshot
	lines  map[string][]byte
}

// newest answers a request for the newest snapshot, or for the probes' reports.
func (s *Server) newest(r *request, owner bool) []byte {
	latest := s.options.Latest()
	if latest == nil {
		return encode(refuse(r.ID, probe.Busy, "there is no snapshot yet"))
	}
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	if s.cache.source != latest {
		s.cache.source, s.cache.lines = latest, make(map[string][]byte)
	}
	key := r.Cmd
	if owner && r.Cmd == cmdSnapshot {
		key += " in full"
	}
	if s.cache.lines[key] == nil {
		a := &answer{OK: true}
		if r.Cmd == cmdSnapshot {
			a.Snapshot = document(latest, owner)
		} else if s.options.Answers != nil {
			a.Processes = probe.Relay(s.options.Answers())
		}
		s.cache.lines[key] = encode(a)[len(`{"id":0`):]
	}
	return append(fmt.Appendf(nil, `{"id":%d`, r.ID), s.cache.lines[key]...)
}

// notFound is the code for what the daemon does not have: a past moment, a guard or a lease.
const notFound probe.Code = "not_found"

func (s *Server) status(owner bool) *Status {
	status := s.options.Status()
	status.Proto, status.PID, status.UID, status.View = Version, os.Getpid(), os.Geteuid(), ViewNumbers
	if owner {
		status.View = ViewAll
		return &status
	}
	return &Status{
		Proto: status.Proto, PID: status.PID, UID: status.UID, Since: status.Since, IntervalNS: status.IntervalNS, Simulated: status.Simulated,
		Recording: status.Recording, Reason: withoutPaths(status.Reason), Leases: status.Leases, View: ViewNumbers,
	}
}

func document(snap *snapshot.Snapshot, owner bool) *schema.Document {
	if !owner {
		snap = numbers(snap)
	}
	doc := schema.Of(snap)
	return &doc
}

// guard answers requests about the guard. Users other than root and the daemon's can read only what
// numbersOfGuard returns.
func (s *Server) guard(r *request, owner bool) *answer {
	a := &answer{ID: r.ID, OK: true}
	switch {
	case s.options.Guard == nil:
		return refuse(r.ID, notFound, "the daemon has no guard: its configuration has no [[guard.rule]], or its mode is off")
	case r.Cmd == cmdPause && !owner:
		return refuse(r.ID, probe.Forbidden, "only root and the daemon's user may pause its guard")
	case r.Cmd == cmdPause:
		a.Guard = schema.GuardOf(s.options.Guard.Pause(time.Now().Add(time.Duration(r.ForNS))))
	default:
		state := s.options.Guard.State()
		if !owner {
			state = numbersOfGuard(state)
		}
		a.Guard = schema.GuardOf(state)
	}
	return a
}

func points(found []snapshot.Point) []point {
	out := make([]point, len(found))
	for i, p := range found {
		if p.Known {
			out[i] = &[3]int64{p.Last, p.Min, p.Max}
		}
	}
	return out
}

func (s *Server) events(limit int, owner bool) []event {
	if limit <= 0 {
		limit = maxEvents
	}
	out := []event{}
	for _, e := range s.options.History.Events(min(limit, maxEvents)) {
		shown := &e
		if !owner {
			shown = sharedEvent(shown)
		}
		if shown != nil {
			out = append(out, eventOf(shown))
		}
	}
	return out
}

// encode makes a line that is safe to show in a terminal.
func encode(a *answer) []byte {
	line, err := json.Marshal(a)
	if err != nil { // never, for the values that a snapshot can hold
		line, _ = json.Marshal(refuse(a.ID, probe.Internal, "the answer cannot be encoded"))
	}
	return append(text.EscapeJSON(line), '\n')
}
