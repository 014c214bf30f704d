package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// connection is one monitor's connection to a Server. Requests are answered
// in their order.
type connection struct {
	server *Server
	conn   *net.UnixConn
	begun  bool     // part of a line has been read
	file   *os.File // received with the present request
}

// serve answers until the monitor disconnects or breaks the framing.
func (c *connection) serve(ctx context.Context) {
	defer func() { _ = c.conn.Close() }()
	defer c.drop()
	in := newLines(c)
	for {
		// A connection may be idle for long, but not within a line.
		c.begun = in.partial()
		timeout := idleTime
		if c.begun {
			timeout = lineTime
		}
		if err := c.conn.SetReadDeadline(time.Now().Add(timeout)); err != nil {
			return
		}
		line, err := in.next()
		if errors.Is(err, errLongLine) {
			// The start of the next request is unknown.
			_ = c.write(reply{Error: failure(BadRequest, "%v", err)})
			return
		}
		if err != nil {
			return
		}
		answer, last := c.answer(ctx, line)
		c.drop()
		if c.write(answer) != nil || last {
			return
		}
	}
}

// Read implements io.Reader for lines, and keeps a received descriptor.
func (c *connection) Read(buffer []byte) (int, error) {
	n, files, err := receive(c.conn, buffer)
	for _, file := range files {
		c.drop()
		c.file = file
	}
	if n > 0 && !c.begun {
		c.begun = true
		err = errors.Join(err, c.conn.SetReadDeadline(time.Now().Add(lineTime)))
	}
	return max(n, 0), err // less than 0 with an error
}

// drop closes the received descriptor.
func (c *connection) drop() {
	if c.file != nil {
		_ = c.file.Close() // each write to it has been checked
		c.file = nil
	}
}

// write sends one answer. A monitor that does not read it loses its connection.
func (c *connection) write(answer any) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	return writeLine(c.conn, answer)
}

// writeLine sends one value as a line.
func writeLine(w io.Writer, value any) error {
	line, err := encode(value)
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

func encode(value any) ([]byte, error) {
	line, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	line = append(line, '\n')
	if len(line) > MaxLine {
		return nil, fmt.Errorf("encode: %w", errLongLine)
	}
	return line, nil
}

// answer executes one request. Last reports whether it was a bye.
func (c *connection) answer(ctx context.Context, line []byte) (answer any, last bool) {
	var asked fields
	var cmd string
	err := decode(line, &asked)
	done := reply{ID: asked.id()}
	if err != nil {
		err = failure(BadRequest, "%v", err)
	} else {
		err = asked.take("cmd", &cmd)
	}
	if err == nil {
		answer, err = c.do(ctx, cmd, asked, reply{ID: done.ID, OK: true})
	}
	if err == nil {
		// An answer that does not fit a line is the handler's error, and must not
		// break the connection.
		if _, err = encode(answer); err == nil {
			return answer, cmd == cmdBye
		}
	}
	if !errors.As(err, &done.Error) {
		done.Error = failure(Internal, "%v", err)
	}
	done.Error = &Error{Code: done.Error.Code, Message: clip(done.Error.Message)}
	return done, false
}

// do dispatches. A panic of the handler must not end the program around it.
func (c *connection) do(ctx context.Context, cmd string, asked fields, done reply) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = failure(Internal, "the probe panicked: %v", p)
		}
	}()
	var proto string
	if err := asked.take("proto", &proto); err != nil && cmd == cmdHello {
		return nil, err
	}
	switch {
	case done.ID == nil:
		return nil, failure(BadRequest, "id is missing, or not an integer from 0 to 2^53")
	case proto != "" && !sameMajor(proto):
		return nil, failure(WrongVersion, "this is %s", Version)
	}
	switch cmd {
	case cmdHello:
		return helloLine{done, c.server.hello()}, nil
	case cmdStats:
		report, err := c.server.report(ctx)
		return statsLine{done, report}, err
	case cmdFlush:
		wanted, err := asked.flush()
		if err != nil {
			return nil, err
		}
		result, err := c.server.flushed(ctx, wanted)
		return flushedLine{done, result}, err
	case cmdSnapshot:
		wanted, err := asked.snapshot()
		if err != nil {
			return nil, err
		}
		result, err := c.server.written(ctx, wanted, c.file)
		return snapshotLine{done, result}, err
	case cmdBye:
		return done, nil
	case "":
		return nil, failure(BadRequest, "cmd is missing")
	}
	return nil, failure(UnknownCommand, "%s has no command %q", Version, clip(cmd))
}

// hello completes the handler's hello.
func (s *Server) hello() Hello {
	h := s.handler.Hello()
	h.Proto, h.PID, h.StartTime = Version, s.pid, s.start
	if h.Runtimes == nil {
		h.Runtimes = []Runtime{}
	}
	if h.Capabilities == nil {
		h.Capabilities = []string{}
	}
	return h
}

// report reads the stats, for one monitor at a time.
func (s *Server) report(ctx context.Context) (Report, error) {
	s.stats.Lock()
	defer s.stats.Unlock()
	now := s.clock().UnixNano()
	r, err := s.handler.Stats(ctx)
	if r.TimeNS == 0 {
		// The time before the reading: figures never look younger than they are.
		r.TimeNS = now
	}
	if r.Devices == nil {
		r.Devices = []Device{}
	}
	for i := range r.Devices {
		if r.Devices[i].Allocators == nil {
			r.Devices[i].Allocators = []Allocator{}
		}
	}
	return r, err
}

// flushed makes the handler flush, one at a time and rate-limited. A dry run
// costs the program nothing and is not limited.
func (s *Server) flushed(ctx context.Context, request FlushRequest) (FlushResult, error) {
	if err := request.check(); err != nil {
		return FlushResult{}, err
	}
	if !s.flush.TryLock() {
		return FlushResult{}, failure(Busy, "another flush is under way")
	}
	defer s.flush.Unlock()
	if !request.DryRun {
		now := s.clock()
		turn := s.rate.ReserveN(now, 1)
		if wait := turn.DelayFrom(now); wait > 0 {
			turn.CancelAt(now)
			return FlushResult{}, failure(RateLimited, "too many flushes: again in %.1f s", wait.Seconds())
		}
	}
	before := s.clock()
	result, err := s.handler.Flush(ctx, request)
	result.Milliseconds = float64(s.clock().Sub(before).Microseconds()) / 1000
	result.Level, result.DryRun = request.Level, request.DryRun
	if result.Devices == nil {
		result.Devices = []Flushed{}
	}
	for i := range result.Devices {
		d := &result.Devices[i]
		d.FreedBytes = d.BeforeBytes - d.AfterBytes
	}
	return result, err
}

// written makes the handler write a snapshot to the monitor's file.
func (s *Server) written(ctx context.Context, request SnapshotRequest, file *os.File) (SnapshotResult, error) {
	if err := request.check(); err != nil {
		return SnapshotResult{}, err
	}
	if file == nil {
		return SnapshotResult{}, failure(BadRequest, "a snapshot needs a descriptor to write to (SCM_RIGHTS)")
	}
	// A pipe without a reader would block the program's thread for ever.
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return SnapshotResult{}, failure(BadRequest, "the descriptor is not a regular file or memfd")
	}
	if err := writable(file); err != nil {
		return SnapshotResult{}, failure(BadRequest, "%v", err)
	}
	if !s.snapshot.TryLock() {
		return SnapshotResult{}, failure(Busy, "another snapshot is under way")
	}
	defer s.snapshot.Unlock()
	before := s.clock()
	w := io.NewOffsetWriter(file, 0)
	result, err := s.handler.Snapshot(ctx, request, w)
	result.Bytes, _ = w.Seek(0, io.SeekCurrent) // how much was written
	result.Milliseconds = float64(s.clock().Sub(before).Microseconds()) / 1000
	return result, err
}
