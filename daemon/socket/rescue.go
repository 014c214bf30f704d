package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/guard"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
)

// Rescuer makes other processes free memory for one whose allocation has failed.
type Rescuer interface {
	// Rescue returns when there is room. If there is none in time it returns an error, a
	// *guard.RescueError. The returned function takes the outcome.
	Rescue(ctx context.Context, ask guard.Ask) (guard.Room, func(guard.RescueOutcome), error)
}

type client struct {
	conn  *net.UnixConn
	uid   uint32
	pid   int    // in the daemon's namespace; 0: the process is in another one
	since uint64 // when the client connected, in ticks, like processes' start times
	owner bool
	ended func(guard.RescueOutcome) // called with the outcome; nil: no rescue is open
}

// end ends the client's open rescue with its outcome.
func (c *client) end(outcome guard.RescueOutcome) {
	if c.ended != nil {
		c.ended(outcome)
		c.ended = nil
	}
}

// mostWaited limits the wait that a client reports. No rescue takes that long.
const mostWaited = time.Minute

func (s *Server) rescue(ctx context.Context, c *client, r *request) *answer {
	if s.options.Rescuer == nil || s.options.Identify == nil {
		return refuse(r.ID, probe.Unsupported, "no guard acts here")
	}
	c.end(guard.RescueOutcome{})
	id, err := s.identify(c)
	if err != nil {
		return refuse(r.ID, probe.Forbidden, "%v", err)
	}
	made, ended, err := s.options.Rescuer.Rescue(ctx, guard.Ask{Process: id, UID: c.uid, GPUUUID: r.GPU, Bytes: quantity.Bytes(r.Bytes)})
	if err != nil {
		code := probe.Internal
		if why, is := errors.AsType[*guard.RescueError](err); is {
			code = probe.Code(why.Code)
		}
		return refuse(r.ID, code, "%v", err)
	}
	c.ended = ended
	return &answer{ID: r.ID, OK: true, Rescue: &made}
}

// identify returns the process that connected. It fails if that process has ended, because another
// process may have its PID or its connection now.
func (s *Server) identify(c *client) (process.Identity, error) {
	if c.pid <= 0 {
		return process.Identity{}, errors.New("your process is in a pid namespace that is not visible here")
	}
	id, err := s.options.Identify(c.pid)
	switch {
	case err != nil:
		return id, err
	case id.StartTime > c.since:
		return id, errors.New("the process that connected has ended")
	}
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return id, fmt.Errorf("identify the peer: %w", err)
	}
	hungUp := true
	if err := raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		_, err := unix.Poll(fds, 0)
		hungUp = err != nil || fds[0].Revents&unix.POLLHUP != 0
	}); err != nil || hungUp {
		return id, errors.New("your process has ended")
	}
	return id, nil
}

func (s *Server) rescued(c *client, r *request) *answer {
	if c.ended == nil {
		return refuse(r.ID, probe.BadRequest, "there was no rescue")
	}
	c.end(guard.RescueOutcome{Known: true, Succeeded: r.Succeeded, Waited: min(time.Duration(r.WaitedMS)*time.Millisecond, mostWaited)})
	return &answer{ID: r.ID, OK: true}
}
