package socket

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/lease"
	"vramscope/probe"
	"vramscope/schema"
)

// Leaser answers requests about leases.
type Leaser interface {
	// Claim may wait for ask.Wait, until left is closed or tell fails. It reports its progress to tell.
	Claim(ctx context.Context, left <-chan struct{}, ask lease.Ask, tell func(schema.Lease) error) (schema.Lease, error)
	Renew(uid uint32, id string, ttl time.Duration) (schema.Lease, error)
	Release(uid uint32, id string) (schema.Lease, error)
	Leases(uid uint32) []schema.Lease
}

// The codes of refused claims.
const (
	NoRoom probe.Code = "no_room"
	Never  probe.Code = "never_fits"
)

// usualTTL is the TTL of a lease that is for no process, if the claim has no TTL.
const usualTTL = 10 * time.Minute

// mostWaits limits the connections that wait for a lease; for a user other than the daemon's and
// root the limit is an eighth.
const mostWaits = 1024

// checkLease returns the mistake in a claim or a renewal.
func (r *request) checkLease() error {
	switch {
	case min(r.LengthNS, r.TTLNS, r.WaitNS) < 0 || max(r.LengthNS, r.TTLNS, r.WaitNS) > int64(maxWait):
		return fmt.Errorf("%w: length_ns, ttl_ns and wait_ns are 0 to %d", errRequest, int64(maxWait))
	case r.Cmd == cmdRenew && r.TTLNS == 0:
		return fmt.Errorf("%w: a renewal needs ttl_ns", errRequest)
	case r.Cmd == cmdRenew:
		return nil
	case r.Bytes < 1 || r.Bytes > maxAsked || r.Count < 1 || max(r.Count, len(r.GPUs)) > maxLeased || r.PID < 0 || r.PID == 1:
		return fmt.Errorf("%w: a claim needs bytes, from 1 to %d, and a count, of at most %d; PID 1 has no lease", errRequest, int64(maxAsked), maxLeased)
	}
	return nil
}

// ask converts a claim's request for the ledger.
func (s *Server) ask(c *client, r *request) (ask lease.Ask, err error) {
	ask = lease.Ask{Wait: time.Duration(r.WaitNS), Ticket: r.Lease, Claim: lease.Claim{
		Need: quantity.Bytes(r.Bytes), Count: r.Count, Among: r.GPUs, Length: time.Duration(r.LengthNS), TTL: time.Duration(r.TTLNS),
		UID: c.uid, Command: text.Clean(clip(r.Command)), Parent: r.Parent,
	}}
	if !r.Self && r.PID == 0 {
		ask.TTL = cmp.Or(ask.TTL, usualTTL)
		return ask, nil
	}
	if s.options.Identify == nil || s.options.Owner == nil {
		return ask, errors.New("processes cannot be identified here")
	}
	peer, err := s.identify(c)
	if err != nil || r.Self {
		ask.Process = peer
		return ask, err
	}
	if peer.Namespace != process.Namespace("/proc", "self") {
		return ask, errors.New("your PIDs are of another pid namespace")
	}
	ask.Process, err = s.options.Identify(r.PID)
	if uid, known := s.options.Owner(r.PID).Value(); err == nil && c.uid != 0 && (!known || uid != c.uid) {
		err = fmt.Errorf("PID %d is not yours", r.PID)
	}
	return ask, err
}

// lease answers a request about leases that does not wait.
func (s *Server) lease(c *client, r *request) *answer {
	if s.options.Leaser == nil {
		return refuse(r.ID, probe.Unsupported, "this daemon keeps no leases")
	}
	a := &answer{ID: r.ID, OK: true}
	var given schema.Lease
	var err error
	switch r.Cmd {
	case cmdLeases:
		a.Leases = s.options.Leaser.Leases(c.uid)
		return a
	case cmdRenew:
		given, err = s.options.Leaser.Renew(c.uid, r.Lease, time.Duration(r.TTLNS))
	case cmdRelease:
		given, err = s.options.Leaser.Release(c.uid, r.Lease)
	default:
		given, err = s.claim(context.Background(), c, r, nil, nil)
	}
	if err != nil {
		return refusedLease(r.ID, err)
	}
	a.Lease = &given
	return a
}

func (s *Server) claim(ctx context.Context, c *client, r *request, left <-chan struct{}, tell func(schema.Lease) error) (schema.Lease, error) {
	ask, err := s.ask(c, r)
	if err == nil && os.Geteuid() != 0 { // a GPU has one ledger
		if client, _ := DialLeases(ctx, []Place{{RootDirectory, 0}}); client != nil {
			_ = client.Close() // the daemon has answered
			err = errors.New("root's daemon keeps the leases of this box: ask " + RootDirectory + "/" + Name)
		}
	}
	if err != nil {
		return schema.Lease{}, err
	}
	return s.options.Leaser.Claim(ctx, left, ask, tell)
}

func refusedLease(id uint64, err error) *answer {
	code := probe.Forbidden
	refusal, is := errors.AsType[*lease.Refusal](err)
	switch {
	case is && refusal.Never:
		code = Never
	case is:
		code = NoRoom
	case errors.Is(err, lease.ErrNone):
		code = notFound
	case errors.Is(err, lease.ErrMany):
		code = probe.Busy
	}
	return refuse(id, code, "%v", err)
}

// waitForLease answers a claim that waits, and ends the connection.
func (s *Server) waitForLease(ctx context.Context, c *client, in *bufio.Scanner, r *request) {
	if s.options.Leaser == nil {
		s.send(c.conn, encode(s.lease(c, r)))
		return
	}
	if !s.startWait(c) {
		s.send(c.conn, encode(refuse(r.ID, probe.Busy, "too many processes wait for a lease")))
		return
	}
	left := make(chan struct{})
	_ = c.conn.SetReadDeadline(time.Time{}) // a closed connection fails below
	var reading sync.WaitGroup
	reading.Go(func() { in.Scan(); close(left) }) // until the client closes the connection, or breaks the protocol
	defer reading.Wait()
	defer func() { _ = c.conn.Close() }() // nothing is left to send
	tell := func(waiting schema.Lease) error {
		if !s.send(c.conn, encode(&answer{ID: r.ID, OK: true, Waiting: &waiting})) {
			return net.ErrClosed
		}
		return nil
	}
	given, err := s.claim(ctx, c, r, left, tell)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.send(c.conn, encode(refusedLease(r.ID, err)))
	case !s.send(c.conn, encode(&answer{ID: r.ID, OK: true, Lease: &given})):
		_, _ = s.options.Leaser.Release(c.uid, string(given.ID)) // the lease's client has left
	}
}

// startWait counts a connection among those that wait for a lease; false: there are too many.
func (s *Server) startWait(c *client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	for conn := range s.waits {
		if s.open[conn] == c.uid {
			own++
		}
	}
	if len(s.waits) >= mostWaits || !c.owner && own >= mostWaits/8 {
		return false
	}
	s.waits[c.conn] = true
	return true
}
