package flush

import (
	"context"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// compare adds the driver's figures. The driver may show only a moment later what was freed.
func (f *Flusher) compare(ctx context.Context, r *Result, id process.Identity, before *snapshot.Snapshot, asked time.Time) {
	for i := range r.Devices {
		d := &r.Devices[i]
		d.DriverBefore, d.Whole = driverFigure(before, id, d.UUID)
		if g, _ := before.Device(d.UUID); g != nil && g.Name != "" { // not a GPU that only a probe knows
			d.Index = quantity.From(g.Index, quantity.Driver)
		}
	}
	if r.DryRun {
		return
	}
	newer := f.awaitStats(ctx, id, asked)
	for waited := time.Duration(0); ; waited += driverPause {
		after := f.Sample(ctx)
		for i := range r.Devices {
			d := &r.Devices[i]
			var whole bool
			if d.DriverAfter, whole = driverFigure(after, id, d.UUID); whole != d.Whole {
				d.DriverAfter = snapshot.Bytes{} // not the same figure as before
			}
			// Stats equal to those before the flush may be older than it.
			reserved, ok := reservedFigure(after, id, d.UUID).Value()
			if ok && newer && reserved <= d.Before-d.Freed()/8 {
				d.Since = quantity.From(reserved-d.After, quantity.Probe)
			}
		}
		if !r.Differs() && !r.lacksFigure() || waited >= driverTimeout {
			return
		}
		f.pause(ctx, driverPause)
	}
}

// awaitStats waits for stats younger than the last request, and reports whether they came. The screen
// must not show old stats beside the driver's new figure.
func (f *Flusher) awaitStats(ctx context.Context, id process.Identity, asked time.Time) bool {
	const pause = 5 * time.Millisecond
	for waited := time.Duration(0); waited < statsTimeout; waited += pause {
		for _, a := range f.Probes.Answers() {
			if a.Process == id && !a.At.Before(asked) {
				return true
			}
		}
		f.pause(ctx, pause)
	}
	return false
}

// driverFigure returns the memory that a process uses on a device, by the driver. If the driver
// does not report that, it returns the memory used on the whole device.
func driverFigure(snap *snapshot.Snapshot, id process.Identity, uuid string) (used snapshot.Bytes, whole bool) {
	for _, p := range action.Rows(snap, id, uuid) {
		if p.Used.Known() {
			return p.Used, false
		}
	}
	switch g, instance := snap.Device(uuid); {
	case instance != nil:
		return instance.Memory.Used, true
	case g != nil:
		return g.Memory.Used, true
	}
	return snapshot.Bytes{}, true
}

// reservedFigure returns what a process's allocators reserve on a device, by its probe's newest
// stats; unknown if these are old, or if an allocator does not report it.
func reservedFigure(snap *snapshot.Snapshot, id process.Identity, uuid string) snapshot.Bytes {
	rows := action.Rows(snap, id, uuid)
	if len(rows) == 0 {
		return snapshot.Bytes{}
	}
	var sum quantity.Bytes
	for _, p := range rows {
		if p.Probe == nil || p.Probe.State != snapshot.ProbeLive || len(p.Allocators) == 0 {
			return snapshot.Bytes{}
		}
		for i := range p.Allocators {
			reserved, ok := p.Allocators[i].Reserved.Value()
			if !ok {
				return snapshot.Bytes{}
			}
			sum += reserved
		}
	}
	return quantity.From(sum, quantity.Probe)
}
