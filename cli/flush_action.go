package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/ui"
)

// flushing is how the sources flush, with look for a fresh snapshot.
func (src *sources) flushing(look func(context.Context) *snapshot.Snapshot) *flushing {
	f := &flushing{flush: src.flush, look: look, sleep: sleep, now: src.options.Clock}
	if src.probes != nil {
		f.heard = src.probes.Answers
	}
	return f
}

// refreshTimeout is how long a flush waits for a sample: a GPU that hangs must
// not hold it.
const refreshTimeout = 2 * time.Second

// flushAction binds the key F.
func (src *sources) flushAction(sampling *sampler.Sampler) func(context.Context, process.Identity, ui.FlushRequest) (ui.FlushResult, error) {
	f := src.flushing(func(ctx context.Context) *snapshot.Snapshot {
		ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
		defer cancel()
		return sampling.Refresh(ctx)
	})
	return func(ctx context.Context, id process.Identity, request ui.FlushRequest) (ui.FlushResult, error) {
		wish := flushWish{level: probe.Level(request.Level), devices: request.Devices, dryRun: request.DryRun}
		var progress func(flushReport)
		if request.Progress != nil {
			progress = func(r flushReport) { request.Progress(r.result()) }
		}
		report, err := f.run(ctx, id, wish, progress)
		if errors.Is(err, probe.ErrLate) {
			err = fmt.Errorf("%w: it may still happen", err)
		}
		if err != nil {
			return ui.FlushResult{}, err
		}
		result := report.result()
		if !wish.dryRun {
			sampling.Note(flushedEvent(src.options.Clock(), sampling.Latest(), id, &report, result))
		}
		return result, nil
	}
}

// isOwnCache tells the note of a dry run about a cache that the program has
// registered: it names it, with its size where the program tells that.
func isOwnCache(note string) bool { return strings.HasPrefix(note, "would empty ") }

// result is the report as the screen takes it.
func (r *flushReport) result() ui.FlushResult {
	out := ui.FlushResult{
		DryRun: r.wish.dryRun, More: r.wish.dryRun && slices.ContainsFunc(r.notes, isOwnCache),
		Returnable: r.returnable, Took: r.took, Reason: r.reason,
		Step: r.step, Steps: r.steps, Stopped: r.stopped,
	}
	told, own := len(r.devices) > 0, true
	var before, after, since quantity.Bytes
	booked := true
	for i := range r.devices {
		d := &r.devices[i]
		out.Before, out.After = out.Before+d.before, out.After+d.after
		before, after = before+d.driverBefore.Or(0), after+d.driverAfter.Or(0)
		since, booked = since+d.since.Or(0), booked && d.since.Known()
		told = told && d.driverBefore.Known() && (d.driverAfter.Known() || r.wish.dryRun)
		own = own && !d.whole
	}
	if told && own {
		out.UsedBefore, out.UsedAfter = quantity.From(before, quantity.Driver), quantity.From(after, quantity.Driver)
	}
	if told && !r.wish.dryRun {
		out.Driver = quantity.From(after-before, quantity.Driver)
		if booked {
			out.Since = quantity.From(since, quantity.Probe)
		}
	}
	return out
}

// flushedEvent is a flush in the log.
func flushedEvent(now time.Time, snap *snapshot.Snapshot, id process.Identity, r *flushReport, result ui.FlushResult) snapshot.Event {
	event := snapshot.Event{
		Time: now, Kind: snapshot.EventFlush, Row: snapshot.RowID{Process: id},
		Message: result.Sentence(""), Bytes: quantity.From(r.freed(), quantity.Probe),
	}
	if result.Failed() {
		event.Severity = snapshot.Notice
	}
	rows := rowsOf(snap, id, r.wish.devices)
	if len(rows) == 0 {
		rows = rowsOf(snap, id, nil)
	}
	if len(rows) > 0 {
		p := rows[0]
		event.GPU, event.GPUUUID, event.Row = p.GPU, p.ID.GPUUUID, p.ID
		event.User, event.Name = text.Clean(p.User), programOf(p)
	}
	return event
}

// programOf is what a process runs, in one word.
func programOf(p *snapshot.Process) string {
	name, _, _ := strings.Cut(commandOf(p), " ")
	return name
}
