package sampler

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// Any process may report anything. A report counts only where its process can
// hold what it says: no more, by snapshot.Tolerance, than the driver reports for
// the process or, where it does not report that, than is left of what is used on
// the device by all such processes. Where the driver reports neither, the size of
// the device is the limit, by the driver or by the probe itself.
//
// The driver and the probe are read at different moments (skew), and a process
// that grows or shrinks is no liar. So a report is held against the driver's
// readings before and after it: the larger one is the limit. A report that is
// newer than the driver's reading and exceeds it waits for the next reading;
// until then the last accepted report is shown, with its age, while it is not
// stale. Where there is none the figures are unknown, with the reason.

// report is what a probe says of one device.
type report struct {
	device *probe.Device
	at     time.Time      // when the probe read it
	held   quantity.Bytes // what the process holds at least, by any of its figures
	peak   quantity.Bytes // its highest peak
}

// bound is what the driver reports as a limit, at a moment.
type bound struct {
	limit quantity.Bytes
	of    string // what the limit is, in a reason
	at    time.Time
}

// reports are a row's.
type reports struct {
	shown         report // the last accepted; its device is nil where there is none
	waiting       report // exceeds the driver's reading, and is newer
	before, after bound
	unlisted      bool   // the driver does not report what its process uses
	seen          uint64 // the tick of the newest report
}

// take takes the newest report in, and returns the one to show, or why there is
// none. Size is that of the device; 0 where it is unknown.
func (r *reports) take(now time.Time, newest report, limit bound, size quantity.Bytes) (shown report, rejected string) {
	if !limit.at.Equal(r.after.at) {
		r.before = r.after
	}
	r.after = limit
	if most := max(newest.held, newest.peak); size > 0 && most > size+snapshot.Tolerance(size) {
		r.shown, r.waiting = report{}, report{}
		return report{}, exceeds(most, "GPU has "+size.String())
	}
	for _, next := range [...]report{r.waiting, newest} {
		if next.device != nil && !next.same(&r.shown) && r.possible(&next) {
			r.shown = next
		}
	}
	r.waiting = report{}
	another := !newest.same(&r.shown)
	if another && newest.at.After(limit.at) {
		r.waiting = newest
	}
	if r.shown.device == nil || another && now.Sub(r.shown.at) >= staleAfter {
		r.shown = report{}
		return report{}, exceeds(newest.held, limit.of+" "+limit.limit.String())
	}
	return r.shown, ""
}

func (r *report) same(other *report) bool { return r.device == other.device && r.at.Equal(other.at) }

// possible reports whether the process could hold what it reports when it
// reported it.
func (r *reports) possible(next *report) bool {
	limit := r.after.limit
	if !next.at.After(r.after.at) {
		limit = max(limit, r.before.limit)
	}
	return next.held <= limit+snapshot.Tolerance(limit)
}

func exceeds(reported quantity.Bytes, limit string) string {
	return "reports " + reported.String() + ", the " + limit
}

// reportOf adds up what an answer says of a device. A figure without the others
// counts too: no part of an allocator's memory is larger than what it reserves.
func reportOf(d *probe.Device, at time.Time) report {
	r := report{device: d, at: at}
	for i := range d.Allocators {
		a := &d.Allocators[i]
		most := valueOf(a.AllocatedBytes) + valueOf(a.CachedBytes) + valueOf(a.FragmentedBytes)
		for _, part := range [...]*quantity.Bytes{a.ReservedBytes, a.ReturnableBytes, a.PendingBytes, a.LargestFreeBytes} {
			most = max(most, valueOf(part))
		}
		for j := range a.Pools {
			p := &a.Pools[j]
			most = max(most, valueOf(p.ReservedBytes), valueOf(p.AllocatedBytes), valueOf(p.FragmentedBytes))
		}
		for j := range a.Largest {
			most = max(most, a.Largest[j].Bytes)
		}
		r.held += most
		r.peak = max(r.peak, valueOf(a.PeakAllocatedBytes), valueOf(a.PeakReservedBytes))
	}
	return r
}

func valueOf(b *quantity.Bytes) quantity.Bytes {
	if b == nil {
		return 0
	}
	return *b
}
