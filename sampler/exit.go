package sampler

import (
	"slices"
	"syscall"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// exitReader is a ProcessReader that knows how processes ended.
type exitReader interface {
	Exit(id process.Identity) (status syscall.WaitStatus, known bool)
	HostMemoryEnded(id process.Identity) bool
}

// noteExit notes the exit status of an ended row and returns the signal that ended its process. The
// signal is 0 if there was none or if the status is unknown.
func noteExit(g *snapshot.EndedProcess, reader exitReader) syscall.Signal {
	status, known := reader.Exit(g.Last.ID.Process)
	switch {
	case !known:
		return 0
	case status.Signaled():
		g.ExitStatus = quantity.From(128+int(status.Signal()), quantity.System)
		return status.Signal()
	default:
		g.ExitStatus = quantity.From(status.ExitStatus(), quantity.System)
		return 0
	}
}

// askedToEnd reports whether somebody asked a process to end: by one of the usual signals, or by
// any signal that vramscope has just sent.
func (s *Sampler) askedToEnd(e *snapshot.Event, signal syscall.Signal) bool {
	const recent, within = 64, 30 * time.Second
	return slices.Contains([]syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE, syscall.SIGTERM}, signal) ||
		slices.ContainsFunc(s.history.Events(recent), func(sent snapshot.Event) bool {
			return sent.Kind == snapshot.EventSignal && sent.Row.Process == e.Row.Process && e.Time.Sub(sent.Time) < within
		})
}
