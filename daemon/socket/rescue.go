package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
)

// Asker is a process whose allocation the driver has refused.
type Asker struct {
	Process process.Identity // as the kernel has it
	UID     uint32
	GPU     string // UUID of the GPU or MIG instance
	Bytes   quantity.Bytes
}

// Rescuer has other processes free memory for one whose allocation has failed.
type Rescuer interface {
	// Rescue returns when there is room, or an error, a *probe.Error, at once where
	// there is none to be had. The function takes what came of it then.
	Rescue(ctx context.Context, asker Asker) (Room, func(Rescued), error)
}

// Room is what a rescue has made.
type Room struct {
	FreedBytes quantity.Bytes `json:"freed_bytes"`
	FreeBytes  quantity.Bytes `json:"free_bytes"` // on the device
}

// Rescued is what came of an allocation that was tried again.
type Rescued struct {
	Known     bool // the process has reported it
	Succeeded bool
	Waited    time.Duration // of the thread that allocates
}

// client is one connection.
type client struct {
	conn  *net.UnixConn
	uid   uint32
	pid   int // in the daemon's namespace; 0: of another one
	owner bool
	ended func(Rescued) // of its rescue; nil: none is open
}

// end ends a rescue whose client has not said what came of it.
func (c *client) end(outcome Rescued) {
	if c.ended != nil {
		c.ended(outcome)
		c.ended = nil
	}
}

// mostWaited is more than a client waits for a rescue.
const mostWaited = time.Minute

// rescue answers a request for memory.
func (s *Server) rescue(ctx context.Context, c *client, r *request) *answer {
	if s.options.Rescuer == nil || s.options.Identify == nil {
		return refuse(r.ID, probe.Unsupported, "no guard acts here")
	}
	c.end(Rescued{})
	id, err := s.identify(c)
	if err != nil {
		return refuse(r.ID, probe.Forbidden, "%v", err)
	}
	room, ended, err := s.options.Rescuer.Rescue(ctx, Asker{Process: id, UID: c.uid, GPU: r.GPU, Bytes: quantity.Bytes(r.Bytes)})
	if err != nil {
		refusal, is := errors.AsType[*probe.Error](err)
		if !is {
			refusal = &probe.Error{Code: probe.Internal, Message: err.Error()}
		}
		return &answer{ID: r.ID, Error: refusal}
	}
	c.ended = ended
	return &answer{ID: r.ID, OK: true, Rescue: &room}
}

// identify is which process is at the other end. It waits for an answer, so a pid that
// has its connection still open is not another's by now.
func (s *Server) identify(c *client) (process.Identity, error) {
	if c.pid <= 0 {
		return process.Identity{}, errors.New("your process is in a pid namespace that is not visible here")
	}
	id, err := s.options.Identify(c.pid)
	if err != nil {
		return id, err
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

// rescued takes what came of a rescue.
func (s *Server) rescued(c *client, r *request) *answer {
	if c.ended == nil {
		return refuse(r.ID, probe.BadRequest, "there was no rescue")
	}
	c.end(Rescued{Known: true, Succeeded: r.Succeeded, Waited: min(time.Duration(r.WaitedMS)*time.Millisecond, mostWaited)})
	return &answer{ID: r.ID, OK: true}
}
