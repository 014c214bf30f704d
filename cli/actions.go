package cli

import (
	"context"
	"time"

	"vramscope/action"
	"vramscope/action/attach"
	"vramscope/action/flush"
	"vramscope/action/signal"
	"vramscope/cli/config"
	"vramscope/internal/process"
	"vramscope/probe"
	way "vramscope/probe/attach"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/ui"
)

// sampleTimeout is how long a flush waits for a sample: a GPU that hangs must
// not hold it.
const sampleTimeout = 2 * time.Second

// auditLog is the log of what is done to real processes.
func auditLog(table *process.Table, clock func() time.Time) *action.Log {
	return &action.Log{Directory: stateHome(), User: func() string { return table.Host(time.Time{}).User }, Clock: clock}
}

// flusher flushes; sample takes a fresh snapshot.
func (src *sources) flusher(sample func(context.Context) *snapshot.Snapshot) *flush.Flusher {
	return &flush.Flusher{Probes: src.flushes, Sample: sample, Log: src.log, Clock: src.options.Clock}
}

// attacher puts probes into processes.
func attacher(table *process.Table, log *action.Log) *attach.Attacher {
	return &attach.Attacher{Way: waysInto(table), Log: log, Clock: time.Now}
}

func waysInto(table *process.Table) *way.Attacher {
	return way.New(way.Options{Table: table, Finder: probe.NewFinder(table)})
}

// actions binds what the screen may do to the box.
func (src *sources) actions(sampling *sampler.Sampler, s *config.Settings) ui.Actions {
	if s.ReadOnly {
		return ui.Actions{Segments: src.segmentsAction(sampling.Latest)} // which only reads
	}
	flusher := src.flusher(func(ctx context.Context) *snapshot.Snapshot {
		ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
		defer cancel()
		return sampling.Refresh(ctx)
	})
	flusher.Note = sampling.Note
	sender := &signal.Sender{
		Send: src.signal, Latest: sampling.Latest, Log: src.log, Note: sampling.Note, Clock: src.options.Clock,
	}
	actions := ui.Actions{
		Segments: src.segmentsAction(sampling.Latest),
		Flush:    during(src.inflight, flusher.Run),
		Signal:   during(src.inflight, sender.Run),
	}
	if src.table == nil {
		return actions // a simulated process has no inside
	}
	attacher := attacher(src.table, src.log)
	attacher.Latest, attacher.Note = sampling.Latest, sampling.Note
	actions.Attachable, actions.AuditLog = attacher.Examine, src.log.Directory
	actions.Attach = during(src.inflight, attacher.Run)
	return actions
}
