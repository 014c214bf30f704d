package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"vramscope/internal/process"
)

// How long a monitor waits for the answer to hello or stats, and to flush.
const (
	StatsDeadline = 200 * time.Millisecond
	FlushDeadline = 10 * time.Second
)

// ErrLate means that no answer came in time. Until it comes, nothing else is sent on the connection.
var ErrLate = errors.New("no answer in time")

// ErrUnsent means that a request was not sent in time, so it has no effect. It wraps ErrLate.
var ErrUnsent = fmt.Errorf("not sent, as an earlier request has %w", ErrLate)

// ErrBroken means that a probe broke the protocol. Its connection is closed.
var ErrBroken = errors.New("the probe breaks the protocol")

// Client is a monitor's connection to one probe. Its methods are for one goroutine at a time; Close
// may be called at any time.
type Client struct {
	process  process.Identity // at the other end, verified when the connection was made
	uid      uint32
	nspid    int
	start    uint64 // of the process, in clock ticks since boot
	path     string
	conn     *net.UnixConn
	in       *lines
	deadline time.Duration // of hello and stats; the other commands have their own
	id       uint64
	waiting  string // the command of request id, until its answer comes
	last     bool   // the program exits: it has sent its last stats, unasked
}

func newClient(conn *net.UnixConn, path string, id process.Identity, who owner) *Client {
	return &Client{
		process: id, uid: who.uid, nspid: who.nspid, start: id.StartTime,
		path: path, conn: conn, in: newLines(conn), deadline: StatsDeadline,
	}
}

// Close closes the connection without a bye.
func (c *Client) Close() error { return c.conn.Close() }

// Hello asks the probe for its version and what it can do.
func (c *Client) Hello(ctx context.Context) (Hello, error) {
	var line helloLine
	check := func() error { return line.check(c.nspid, c.start) }
	if err := c.ask(ctx, c.deadline, &request{Cmd: cmdHello, Proto: Version}, &line, check); err != nil {
		return Hello{}, err
	}
	return line.Hello, nil
}

// Stats asks for the allocators' stats. After ErrLate, the next call of Stats waits for
// the outstanding answer.
func (c *Client) Stats(ctx context.Context, fresh bool) (Report, error) {
	var line statsLine
	if err := c.ask(ctx, c.deadline, &request{Cmd: cmdStats, Fresh: fresh}, &line, line.check); err != nil {
		return Report{}, err
	}
	return line.Report, nil
}

// Flush makes the process free cached memory. After ErrLate the flush may still
// happen, but not after ErrUnsent.
func (c *Client) Flush(ctx context.Context, wanted FlushRequest) (FlushResult, error) {
	if err := wanted.check(); err != nil {
		return FlushResult{}, c.wrap(cmdFlush, err)
	}
	var line flushedLine
	if err := c.ask(ctx, FlushDeadline, &flushQuestion{request{Cmd: cmdFlush}, wanted}, &line, line.check); err != nil {
		return FlushResult{}, err
	}
	return line.FlushResult, nil
}

// Foreign reports whether the probe belongs to another user. Only root can connect to such a probe.
func (c *Client) Foreign() bool { return c.uid != uint32(os.Geteuid()) }

// question is a request as it is sent: a *request, or one of the types below.
type question interface{ head() *request }

// The questions that have fields of their own.
type (
	flushQuestion struct {
		request
		FlushRequest
	}
	snapshotQuestion struct {
		request
		SnapshotRequest
		file *os.File // its descriptor is sent with the line
	}
)

// ask sends a request, waits for its answer and checks it, within one deadline. An outstanding hello
// or stats is not sent again, so a stopped probe that continues has one request to answer.
func (c *Client) ask(ctx context.Context, timeout time.Duration, q question, into response, check func() error) error {
	cmd := q.head().Cmd
	if err := ctx.Err(); err != nil {
		return c.wrap(cmd, err)
	}
	if c.last {
		return c.wrap(cmd, errClosed)
	}
	deadline := time.Now().Add(timeout)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	if err := c.conn.SetDeadline(deadline); err != nil {
		return c.wrap(cmd, err)
	}
	// A cancelled caller does not wait for the deadline.
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	resumed := c.waiting == cmd && (cmd == cmdHello || cmd == cmdStats)
	if c.waiting != "" && !resumed {
		if err := c.receive(ctx, c.waiting, &reply{}); errors.Is(err, ErrLate) {
			return c.wrap(cmd, ErrUnsent)
		} else if err != nil && !isRefusal(err) {
			return err
		}
	}
	if !resumed {
		if err := c.send(q); err != nil {
			return err
		}
	}
	if err := c.receive(ctx, cmd, into); err != nil {
		return err
	}
	if err := check(); err != nil {
		return c.broken(cmd, err)
	}
	return nil
}

func (c *Client) send(q question) error {
	c.id++
	q.head().ID = &c.id
	cmd := q.head().Cmd
	line, err := encode(q)
	if err != nil {
		return c.wrap(cmd, err)
	}
	if s, ok := q.(*snapshotQuestion); ok {
		err = send(c.conn, line, s.file)
	} else {
		_, err = c.conn.Write(line)
	}
	// A server that closed the connection may have sent the reason: receive reads it.
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return c.broken(cmd, err)
	}
	c.waiting = cmd
	return nil
}

// receive waits for the answer to the outstanding request.
func (c *Client) receive(ctx context.Context, cmd string, into response) error {
	line, err := c.in.next()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		if errors.Is(ctx.Err(), context.Canceled) {
			return c.wrap(cmd, ctx.Err())
		}
		return c.wrap(cmd, ErrLate)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return c.wrap(cmd, errClosed)
	case err != nil:
		return c.broken(cmd, err)
	}
	if err := decode(line, into); err != nil {
		return c.broken(cmd, err)
	}
	head := into.head()
	if head.Error != nil {
		head.Error = &Error{Code: Code(clip(string(head.Error.Code))), Message: clip(head.Error.Message)}
	}
	switch {
	case head.ID == nil && !head.OK && head.Error != nil:
		// The server refuses the whole connection.
		return c.broken(cmd, head.Error)
	case head.Last && head.OK && cmd == cmdStats:
		c.last = true
	case head.ID == nil || *head.ID != c.id:
		return c.broken(cmd, errOtherID)
	case !head.OK && head.Error == nil:
		return c.broken(cmd, errNoReason)
	}
	c.waiting = ""
	if !head.OK {
		return c.wrap(cmd, head.Error)
	}
	return nil
}

var (
	errClosed   = errors.New("the probe closed the connection")
	errOtherID  = errors.New("the answer is to another request")
	errNoReason = errors.New("the answer is neither ok nor an error")
)

// isRefusal reports whether the probe answered with an error.
func isRefusal(err error) bool {
	_, refused := errors.AsType[*Error](err)
	return refused && !errors.Is(err, ErrBroken)
}

func (c *Client) wrap(cmd string, err error) error {
	return fmt.Errorf("probe: %s of PID %d: %w", cmd, c.process.PID, err)
}

// broken closes the connection, and returns err as an ErrBroken.
func (c *Client) broken(cmd string, err error) error {
	_ = c.conn.Close() // the reason is err
	return c.wrap(cmd, fmt.Errorf("%w: %w", ErrBroken, err))
}
