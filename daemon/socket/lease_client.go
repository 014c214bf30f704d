package socket

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"vramscope/internal/text"
	"vramscope/lease"
	"vramscope/probe"
	"vramscope/schema"
)

// Claim is a claim for this process or for others.
type Claim struct {
	lease.Ask
	Self bool // the claim is for this process
	PID  int  // the process that the claim is for, unless Self; 0: one that does not exist yet
}

func (c *Claim) request() *request {
	return &request{
		Cmd: cmdClaim, Bytes: int64(c.Need), Count: c.Count, GPUs: c.Among, Self: c.Self, PID: c.PID, LengthNS: int64(c.Length),
		TTLNS: int64(c.TTL), WaitNS: int64(c.Wait), Lease: c.Ticket, Parent: c.Parent, Command: clip(c.Command),
	}
}

// Times of a client that claims.
const (
	againTime  = 20 * time.Second // how long a client waits for a daemon that went away
	againPause = time.Second      // the longest pause between attempts
)

// DialLeases connects to the first daemon of places that can be reached and keeps leases: root's,
// otherwise the user's own.
func DialLeases(ctx context.Context, places []Place) (client *Client, err error) {
	err = errNone
	for _, place := range places {
		client, failed := Dial(ctx, []Place{place})
		switch {
		case failed == nil && client.Status().Leases:
			return client, nil
		case failed == nil:
			failed = errors.New("the daemon keeps no leases: it is of an older version, it samples a simulated box, or its log says why")
			_ = client.Close() // nothing is left to ask
		}
		if !Absent(failed) {
			err = failed
		}
	}
	return nil, err
}

// Busy reports whether an error means that a daemon has too many connections or claims at present.
func Busy(err error) bool {
	refusal, is := errors.AsType[*probe.Error](err)
	return is && refusal.Code == probe.Busy || errors.Is(err, syscall.EAGAIN) || errors.Is(err, os.ErrDeadlineExceeded)
}

// ClaimLease claims from the daemon that DialLeases finds. It calls waits with the state of a
// waiting claim. A claim that waits survives a restart of the daemon.
func ClaimLease(ctx context.Context, places []Place, claim Claim, waits func(schema.Lease)) (schema.Lease, error) {
	deadline := time.Now().Add(claim.Wait)
	var lost, gone time.Time // since when no daemon has taken the claim, and since when none has answered
	for again := 10 * time.Millisecond; ; again = min(2*again, againPause) {
		client, err := DialLeases(ctx, places)
		var given schema.Lease
		if err == nil {
			client.waits = func(waiting schema.Lease) {
				lost, gone, claim.Ticket = time.Time{}, time.Time{}, string(waiting.ID)
				waits(waiting)
			}
			given, err = client.askLease(ctx, claim.request())
			_ = client.Close() // the daemon has answered, or failed
		}
		if err == nil || ctx.Err() != nil || !Busy(err) && (refused(err) || claim.Ticket == "") {
			return given, err
		}
		if now := time.Now(); lost.IsZero() {
			lost, gone = now, now
		}
		if Busy(err) {
			gone = time.Now()
		}
		if time.Since(lost) > againTime && time.Now().After(deadline) || time.Since(gone) > againTime {
			return given, err
		}
		pause(ctx, again/2+rand.N(again/2)) // so that clients do not all retry at once
		if claim.Wait > 0 {
			claim.Wait = max(time.Until(deadline), time.Millisecond)
		}
	}
}

func (c *Client) askLease(ctx context.Context, r *request) (schema.Lease, error) {
	var a answer
	err := c.ask(ctx, r, &a)
	if err == nil && a.Lease == nil {
		err = c.broken(r.Cmd, errors.New("it does not say which lease"))
	}
	if err != nil {
		return schema.Lease{}, err
	}
	clean(a.Lease)
	return *a.Lease, nil
}

// clean makes the texts of a lease safe to show.
func clean(l *schema.Lease) {
	for _, t := range []*schema.Text{&l.ID, &l.User, &l.Command, &l.Parent, &l.Standing, &l.Note} {
		*t = schema.Text(text.Clean(clip(string(*t))))
	}
	for i := range l.GPUs {
		g := &l.GPUs[i]
		g.GPU, g.UUID = schema.Text(text.Clean(clip(string(g.GPU)))), text.Clean(clip(g.UUID))
	}
}

// RenewLease makes a lease expire at ttl from now.
func (c *Client) RenewLease(ctx context.Context, id string, ttl time.Duration) (schema.Lease, error) {
	return c.askLease(ctx, &request{Cmd: cmdRenew, Lease: id, TTLNS: int64(ttl)})
}

// ReleaseLease ends a lease.
func (c *Client) ReleaseLease(ctx context.Context, id string) (schema.Lease, error) {
	return c.askLease(ctx, &request{Cmd: cmdRelease, Lease: id})
}

// Leases returns all leases and claims, as this user may see them.
func (c *Client) Leases(ctx context.Context) ([]schema.Lease, error) {
	var a answer
	err := c.ask(ctx, &request{Cmd: cmdLeases}, &a)
	for i := range a.Leases {
		clean(&a.Leases[i])
	}
	return a.Leases, err
}
