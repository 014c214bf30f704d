package socket

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"vramscope/internal/bounded"
	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Client is a connection to a daemon. Any goroutine may call its methods; each call waits for
// those before it.
type Client struct {
	status atomic.Pointer[Status]

	mu   sync.Mutex
	conn *net.UnixConn
	in   *bufio.Scanner
	id   uint64
	// waits is called with the state of a waiting claim.
	waits func(schema.Lease)
}

// answerTime is how long a client waits for an answer.
const answerTime = 2 * time.Second

// ErrBroken reports that a daemon broke the protocol. The connection is closed.
var ErrBroken = errors.New("the daemon breaks the protocol")

// Dial connects to the first daemon that answers, in the order of directories. If there is no daemon,
// Absent reports true for the error.
func Dial(ctx context.Context, directories []Place) (*Client, error) {
	var refusals []error
	for _, place := range directories {
		conn, err := dial(ctx, place.Directory, place.Owner)
		if err != nil {
			refusals = append(refusals, err)
			continue
		}
		c := newClient(conn)
		if err := c.hello(ctx); err != nil {
			refusals = append(refusals, errors.Join(err, c.Close()))
			continue
		}
		return c, nil
	}
	for _, err := range refusals {
		if !Absent(err) {
			return nil, err
		}
	}
	return nil, errors.Join(append(refusals, errNone)...)
}

var errNone = fmt.Errorf("no daemon answers: %w", os.ErrNotExist)

// Place is a directory in which a daemon may have its socket. Owner is the user who runs that daemon.
type Place struct {
	Directory string
	Owner     uint32
}

// Places returns root's directory and, unless this user is root, this user's.
func Places(getenv func(string) string) []Place {
	places := []Place{{RootDirectory, 0}}
	if uid := os.Geteuid(); uid != 0 {
		places = append(places, Place{Directory(uid, getenv("XDG_RUNTIME_DIR")), uint32(uid)})
	}
	return places
}

func newClient(conn *net.UnixConn) *Client {
	return &Client{conn: conn, in: bounded.Lines(conn, maxAnswer)}
}

// Status returns the daemon's last status.
func (c *Client) Status() Status { return *c.status.Load() }

// Close closes the connection. A waiting call gets an error.
func (c *Client) Close() error { return c.conn.Close() }

func (c *Client) hello(ctx context.Context) error {
	var a answer
	if err := c.ask(ctx, &request{Cmd: cmdHello, Proto: Version}, &a); err != nil {
		return err
	}
	if a.Status == nil {
		return c.broken(cmdHello, errors.New("it does not say what it is"))
	}
	a.Status.Reason = text.Clean(clip(a.Status.Reason))
	a.Status.Recording = text.Clean(clip(a.Status.Recording))
	c.status.Store(a.Status)
	return nil
}

// clip shortens a text that only people read, to 256 bytes.
func clip(s string) string { return s[:min(len(s), 256)] }

// ask sends a request and reads its answer, within answerTime and the time for which a claim waits.
func (c *Client) ask(ctx context.Context, r *request, into *answer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	c.id++
	r.ID = c.id
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("daemon: %s: %w", r.Cmd, err)
	}
	deadline := time.Now().Add(answerTime + time.Duration(r.WaitNS))
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	_ = c.conn.SetDeadline(deadline) // a closed connection fails below
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// A daemon that has closed the connection may have sent the reason.
	_, sendErr := c.conn.Write(append(line, '\n'))
	for c.in.Scan() {
		*into = answer{}
		if err := c.understand(r.Cmd, c.in.Bytes(), into); err != nil || into.Waiting == nil || c.waits == nil {
			return err
		}
		clean(into.Waiting)
		c.waits(*into.Waiting)
	}
	// The connection is closed: a late answer would be taken for the answer to the next request.
	return c.broken(r.Cmd, errors.Join(sendErr, cmp.Or(c.in.Err(), io.EOF)))
}

// understand reads an answer to the last request.
func (c *Client) understand(cmd string, line []byte, into *answer) error {
	if err := decode(line, into); err != nil {
		return c.broken(cmd, err)
	}
	switch {
	case into.Error != nil && !into.OK:
		refused := &probe.Error{Code: probe.Code(clip(string(into.Error.Code))), Message: text.Clean(clip(into.Error.Message))}
		if into.ID != c.id {
			return c.broken(cmd, refused)
		}
		return fmt.Errorf("daemon: %s: %w", cmd, refused)
	case !into.OK || into.ID != c.id:
		return c.broken(cmd, errors.New("the answer is to another request"))
	}
	return nil
}

// refused reports whether the daemon answered with an error.
func refused(err error) bool {
	_, is := errors.AsType[*probe.Error](err)
	return is && !errors.Is(err, ErrBroken)
}

func (c *Client) broken(cmd string, err error) error {
	_ = c.conn.Close() // err has the reason
	return fmt.Errorf("daemon: %s: %w: %w", cmd, ErrBroken, err)
}

// Limits on the contents of a line from a daemon: two bytes of JSON such as [] could take a hundred
// bytes in memory.
const (
	maxMembers   = 1 << 20
	maxProcesses = 4096
)

func decode(line []byte, into *answer) error {
	if bytes.Count(line, []byte(",")) > maxMembers {
		return fmt.Errorf("more than %d members in one line", maxMembers)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return err
	}
	if len(into.Processes) > maxProcesses || len(into.Points) > maxBuckets || len(into.Events) > maxEvents || len(into.Leases) > maxLeases {
		return errors.New("there are too many items in one line")
	}
	return nil
}

// reports asks for the probes' reports of all processes. It drops the impossible ones.
func (c *Client) reports(ctx context.Context, now func() time.Time) ([]probe.Answer, error) {
	var a answer
	if err := c.ask(ctx, &request{Cmd: cmdReports}, &a); err != nil {
		return nil, err
	}
	answers := make([]probe.Answer, 0, len(a.Processes))
	at := now()
	for i := range a.Processes {
		if one, err := a.Processes[i].Answer(at); err == nil {
			answers = append(answers, one)
		}
	}
	return answers, nil
}

// Guard returns the state of the daemon's guard. A daemon without one refuses.
func (c *Client) Guard(ctx context.Context) (*snapshot.Guard, error) {
	return c.askGuard(ctx, &request{Cmd: cmdGuard})
}

// PauseGuard pauses the daemon's guard; 0 ends a pause. The daemon obeys only root and the daemon's
// user.
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
