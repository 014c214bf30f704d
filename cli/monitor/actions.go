package monitor

import (
	"vramscope/action/signal"
	"vramscope/cli/sources"
	"vramscope/sampler"
	"vramscope/ui"
)

// actions binds what the screen may do to the box.
func actions(src *sources.Set, sampling *sampler.Sampler, underway *inflight) ui.Actions {
	if src.Settings.ReadOnly {
		return ui.Actions{Segments: src.SegmentsAction(sampling.Latest)} // which only reads
	}
	flusher := src.Flusher(sources.Refresher(sampling))
	flusher.Note = sampling.Note
	sender := &signal.Sender{
		Send: src.Signal, Latest: sampling.Latest, Log: src.Log, Note: sampling.Note, Clock: src.Options.Clock,
	}
	actions := ui.Actions{
		Segments: src.SegmentsAction(sampling.Latest),
		Flush:    during(underway, flusher.Run),
		Signal:   during(underway, sender.Run),
	}
	if src.Table == nil {
		return actions // a simulated process has no inside
	}
	attacher := sources.Attacher(src.Table, src.Log)
	attacher.Latest, attacher.Note = sampling.Latest, sampling.Note
	actions.Attachable, actions.AuditLog = attacher.Examine, src.Log.Directory
	actions.Attach = during(underway, attacher.Run)
	return actions
}
