package cli

import (
	"context"
	"errors"
	"strconv"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// flusher has one process give memory back: the probes' monitor, or a
// simulated box.
type flusher func(context.Context, process.Identity, probe.FlushRequest) (probe.FlushResult, error)

// flushing is a flush from the wish to the driver's word on it, the same for
// the key F and for vramscope flush:
//
//	look ── driver's figures before ─→ request, pause, request … ─→ heard ─→ look ── driver's figures after
//	                                   (steps; may be stopped)
//
// What a step freed is what its probe measured; what came of it all is the
// driver's figure.
type flushing struct {
	flush flusher
	look  func(context.Context) *snapshot.Snapshot // a fresh one
	heard func() []probe.Answer                    // what probes have said last; nil: their books are never old
	sleep func(context.Context, time.Duration)     // until then, or until the context ends
	now   func() time.Time
}

const (
	flushPause = 400 * time.Millisecond // between two steps: the program goes on, and somebody may stop them
	flushSteps = 4
	// A probe that has flushed is asked for its books at once; they may take
	// as long as all statistics.
	booksTimeout = 300 * time.Millisecond
	// A driver shows what was given back at once, or a moment later.
	driverTimeout = time.Second
	driverPause   = 100 * time.Millisecond
)

// flushWish is what is to be flushed.
type flushWish struct {
	level   probe.Level
	devices []string // UUIDs; empty: all that the process uses
	dryRun  bool
}

// flushReport is what came of it.
type flushReport struct {
	wish       flushWish
	devices    []flushedDevice
	returnable quantity.Bytes
	took       time.Duration
	reason     string // why nothing, or less than asked, was given back
	notes      []string

	step, steps int
	stopped     bool
}

// flushedDevice is one GPU's or MIG instance's part.
type flushedDevice struct {
	uuid   string
	index  quantity.Optional[int] // of the GPU; unknown where the driver does not name it
	before quantity.Bytes         // held by the allocators, by the probe
	after  quantity.Bytes

	// What the driver says is used: by the process or, where it does not tell
	// that, on the whole GPU.
	driverBefore, driverAfter snapshot.Bytes
	whole                     bool
	// since is what the allocators have taken since the flush, when the driver
	// was read: a busy program goes on. Unknown where no newer books came.
	since snapshot.Bytes
}

// run flushes. The context may end meanwhile: then no further step is begun,
// but one that is under way is waited for and reported.
func (f *flushing) run(ctx context.Context, id process.Identity, wish flushWish, progress func(flushReport)) (flushReport, error) {
	finish := context.WithoutCancel(ctx)
	before := f.look(finish)
	report := flushReport{wish: wish, returnable: returnable(before, id, wish)}
	keeps := f.keeps(before, id, wish)
	report.steps = len(keeps)
	asked := f.now()
	for i, keep := range keeps {
		if i > 0 {
			f.sleep(ctx, flushPause)
			if ctx.Err() != nil {
				report.stopped = true
				break
			}
		}
		asked = f.now()
		result, err := f.flush(finish, id, probe.FlushRequest{
			Level: wish.level, KeepBytes: keep, DryRun: wish.dryRun, Devices: wish.devices,
		})
		if err != nil && i == 0 {
			return report, err
		}
		if err != nil {
			report.reason = "after step " + strconv.Itoa(report.step) + " of " + strconv.Itoa(report.steps) + ": " + inWords(err)
			break
		}
		report.step = i + 1
		report.add(&result)
		if result.SkippedReason != "" {
			break
		}
		if progress != nil && i+1 < len(keeps) {
			progress(report)
		}
	}
	f.compare(finish, &report, id, before, asked)
	return report, nil
}

// inWords is why a step was not done: a probe's own words where it has some.
func inWords(err error) string {
	var answer *probe.Error
	var refusal *process.Refusal
	switch {
	case errors.As(err, &answer) && !errors.Is(err, probe.ErrBroken):
		return answer.Message
	case errors.As(err, &refusal):
		return refusal.Reason
	default:
		return err.Error()
	}
}

// keeps is what the process may keep after each step.
func (f *flushing) keeps(snap *snapshot.Snapshot, id process.Identity, wish flushWish) []quantity.Bytes {
	var most quantity.Bytes
	parts := wish.level == probe.Gradual && !wish.dryRun
	for _, p := range rowsOf(snap, id, wish.devices) {
		most = max(most, p.Returnable.Or(p.Cached.Or(0)))
		parts = parts && p.FlushesInParts()
	}
	if !parts || most <= 0 {
		return []quantity.Bytes{0}
	}
	var keeps []quantity.Bytes
	for left := flushSteps - 1; left >= 0; left-- {
		keeps = append(keeps, most/flushSteps*quantity.Bytes(left))
	}
	return keeps
}

// add joins another step to the report.
func (r *flushReport) add(result *probe.FlushResult) {
	r.took += time.Duration(result.Milliseconds * float64(time.Millisecond))
	r.reason, r.notes = result.SkippedReason, result.Notes
	for i := range result.Devices {
		d := &result.Devices[i]
		known := false
		for j := range r.devices {
			if r.devices[j].uuid == d.UUID {
				r.devices[j].after, known = d.AfterBytes, true
			}
		}
		if !known {
			r.devices = append(r.devices, flushedDevice{uuid: d.UUID, before: d.BeforeBytes, after: d.AfterBytes})
		}
	}
}

// freed is what was given back on all devices.
func (r *flushReport) freed() quantity.Bytes {
	var sum quantity.Bytes
	for i := range r.devices {
		sum += r.devices[i].before - r.devices[i].after
	}
	return sum
}

// compare adds the driver's figures, before and after. A driver may need a
// moment to show what it was given.
func (f *flushing) compare(ctx context.Context, r *flushReport, id process.Identity, before *snapshot.Snapshot, asked time.Time) {
	for i := range r.devices {
		d := &r.devices[i]
		d.driverBefore, d.whole = driverFigure(before, id, d.uuid)
		d.index = indexOf(before, d.uuid)
	}
	if r.wish.dryRun {
		return
	}
	newer := f.awaitBooks(ctx, id, asked)
	for waited := time.Duration(0); ; waited += driverPause {
		after := f.look(ctx)
		var dropped quantity.Bytes
		known := true
		for i := range r.devices {
			d := &r.devices[i]
			var whole bool
			if d.driverAfter, whole = driverFigure(after, id, d.uuid); whole != d.whole {
				d.driverAfter = snapshot.Bytes{} // not the same figure as before
			}
			// Books that look as before the flush may have been on their way
			// when it was asked for: they explain nothing.
			held, ok := heldFigure(after, id, d.uuid).Value()
			if ok && newer && held <= d.before-(d.before-d.after)/8 {
				d.since = quantity.From(held-d.after, quantity.Probe)
			}
			known = known && d.driverBefore.Known() && d.driverAfter.Known()
			dropped += d.driverBefore.Or(0) - d.driverAfter.Or(0) + d.since.Or(0)
		}
		if !known || dropped >= r.freed()/10*9 || waited >= driverTimeout {
			return
		}
		f.sleep(ctx, driverPause)
	}
}

// awaitBooks waits until the process's probe has told its books anew, so that
// the screen does not show the driver's new figure beside the probe's old ones.
// It reports whether it has: a probe is asked one thing at a time, so that books
// younger than the last step's request are books after it, or just before.
func (f *flushing) awaitBooks(ctx context.Context, id process.Identity, asked time.Time) bool {
	const pause = 5 * time.Millisecond
	if f.heard == nil {
		return true
	}
	for waited := time.Duration(0); waited < booksTimeout; waited += pause {
		for _, a := range f.heard() {
			if a.Process == id && !a.At.Before(asked) {
				return true
			}
		}
		f.sleep(ctx, pause)
	}
	return false
}

// sleep waits, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
