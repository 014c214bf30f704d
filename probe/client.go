package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"vramscope/internal/process"
)

// How long a monitor waits for an answer.
const (
	StatsDeadline = 200 * time.Millisecond
	FlushDeadline = 10 * time.Second
)

// ErrLate means that no answer came in time. It may still come: until then
// nothing else is sent on the connection.
var ErrLate = errors.New("no answer in time")

// ErrUnsent is an ErrLate of a request that was not sent: what it asks for cannot happen.
var ErrUnsent = fmt.Errorf("not sent, as an earlier request has %w", ErrLate)

// ErrBroken means that a probe broke the protocol. Its connection is closed.
var ErrBroken = errors.New("the probe breaks the protocol")

// Client is a monitor's connection to one probe. Its methods are for one
// goroutine at a time; Close may be called by any.
type Client struct {
	process  process.Identity // at the other end, verified when the connection was made
	uid      uint32
	nspid    int
	start    uint64 // in the probe's own /proc
	path     string
	conn     *net.UnixConn
	in       lines
	deadline time.Duration // for all but a flush
	id       uint64
	waiting  string // the command of request id, until its answer comes
	last     bool   // the program exits: it has sent its last stats, unasked
}

func newClient(conn *net.UnixConn, path string, id process.Identity, who owner) *Client {
	return &Client{
		process: id, uid: who.uid, nspid: who.nspid, start: id.StartTime,
		path: path, conn: conn, in: lines{source: conn}, deadline: StatsDeadline,
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

// Stats asks for the allocators' stats. After ErrLate, the next call waits for
// the outstanding answer.
func (c *Client) Stats(ctx context.Context) (Report, error) { return c.stats(ctx, false) }

func (c *Client) stats(ctx context.Context, fresh bool) (Report, error) {
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

// Foreign reports whether the probe belongs to another user, which only root
// can connect to.
func (c *Client) Foreign() bool { return c.uid != uint32(os.Geteuid()) }
