package socket

import (
	"context"
	"errors"
	"time"

	"vramscope/sampler/snapshot"
)

// Guard is the state of the daemon's guard; nil where it has none.
func (c *Client) Guard(ctx context.Context) (*snapshot.Guard, error) {
	return c.askGuard(ctx, &request{Cmd: cmdGuard})
}

// PauseGuard has the daemon's guard do nothing for a while; 0 ends a pause. The
// daemon refuses others than root and its own user.
func (c *Client) PauseGuard(ctx context.Context, d time.Duration) (*snapshot.Guard, error) {
	return c.askGuard(ctx, &request{Cmd: cmdPause, ForNS: int64(d)})
}

func (c *Client) askGuard(ctx context.Context, r *request) (*snapshot.Guard, error) {
	var a answer
	if err := c.ask(ctx, r, &a); err != nil {
		return nil, err
	}
	if a.Guard == nil {
		return nil, c.broken(r.Cmd, errors.New("it does not say what its guard does"))
	}
	g := a.Guard.Restore()
	g.ByDaemon = true
	return g, nil
}

// Guard is the state of the daemon's guard a moment ago; nil where no daemon
// answers, or it has none.
func (r *Reader) Guard() *snapshot.Guard { return r.guard.Load() }

// PauseGuard has the guard of the daemon that answers do nothing for a while.
func (r *Reader) PauseGuard(ctx context.Context, d time.Duration) error {
	client, _ := r.Client()
	if client == nil {
		return errSilent
	}
	g, err := client.PauseGuard(ctx, d)
	switch {
	case err == nil:
		r.guard.Store(g)
	case !refused(err):
		return errSilent
	}
	return err
}

// errSilent says no more: the reader tells why the daemon is silent.
var errSilent = errors.New("the daemon does not answer")

// askGuard asks for the guard's state; an error ends the connection.
func (r *Reader) askGuard(ctx context.Context, client *Client) error {
	if client.Status().Simulated {
		return nil // what a simulated box does is of no use to a real one
	}
	g, err := client.Guard(ctx)
	if err != nil && !refused(err) {
		return err
	}
	r.guard.Store(g)
	return nil
}
