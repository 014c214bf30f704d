package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// question is a request as it is sent.
type question struct {
	request
	flush    *FlushRequest    // in a flush
	snapshot *SnapshotRequest // in a snapshot
	file     *os.File         // sent with it
}

// line encodes the request. The fields of a command stand beside the others,
// not below a key of their own.
func (q *question) line() ([]byte, error) {
	switch {
	case q.flush != nil:
		return encode(struct {
			request
			*FlushRequest
		}{q.request, q.flush})
	case q.snapshot != nil:
		return encode(struct {
			request
			*SnapshotRequest
		}{q.request, q.snapshot})
	default:
		return encode(q.request)
	}
}

// ask sends a request and waits for its answer, all within one deadline.
//
// At most one request is outstanding: a probe that was stopped finds one request
// when it continues, not one for each second, and its late answer is the newest.
func (c *Client) ask(ctx context.Context, timeout time.Duration, q question, into any, head *reply) error {
	if err := ctx.Err(); err != nil {
		return c.wrap(q.Cmd, err)
	}
	deadline := time.Now().Add(timeout)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	if err := c.conn.SetDeadline(deadline); err != nil {
		return c.wrap(q.Cmd, err)
	}
	// A cancelled caller does not wait for the deadline.
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	resumed := c.waiting == q.Cmd && q.flush == nil && q.snapshot == nil
	if c.waiting != "" && !resumed {
		var old reply
		if err := c.receive(ctx, c.waiting, &old, &old); err != nil && !isRefusal(err) {
			return err
		}
	}
	if !resumed {
		if err := c.send(q); err != nil {
			return err
		}
	}
	return c.receive(ctx, q.Cmd, into, head)
}

func (c *Client) send(q question) error {
	c.id++
	q.ID = &c.id
	line, err := q.line()
	if err != nil {
		return c.wrap(q.Cmd, err)
	}
	if q.file != nil {
		err = send(c.conn, line, q.file)
	} else {
		_, err = c.conn.Write(line)
	}
	// A server that closed the connection may have sent the reason: receive reads it.
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return c.broken(q.Cmd, err)
	}
	c.waiting = q.Cmd
	return nil
}

// receive waits for the answer to the outstanding request.
func (c *Client) receive(ctx context.Context, cmd string, into any, head *reply) error {
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
	if head.Error != nil {
		head.Error = &Error{Code: Code(clip(string(head.Error.Code))), Message: clip(head.Error.Message)}
	}
	switch {
	case head.ID == nil && !head.OK && head.Error != nil:
		// The server refuses the whole connection.
		return c.broken(cmd, head.Error)
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
	var refused *Error
	return errors.As(err, &refused) && !errors.Is(err, ErrBroken)
}

func (c *Client) wrap(cmd string, err error) error {
	return fmt.Errorf("probe: %s of PID %d: %w", cmd, c.process.PID, err)
}

// broken closes the connection, whose framing can no longer be trusted.
func (c *Client) broken(cmd string, err error) error {
	_ = c.conn.Close() // the reason is err
	return c.wrap(cmd, fmt.Errorf("%w: %w", ErrBroken, err))
}
