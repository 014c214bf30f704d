package probe

import (
	"context"
	"io"
	"os"
)

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
		if wait := s.rate.take(); wait > 0 {
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
