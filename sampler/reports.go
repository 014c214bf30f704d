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
// The driver and the probe are read at different moments (skew), and nothing
// bounds what a process held between two of the driver's readings. So a report is held against the highest of the recent
// readings. One that is newer than all of them and exceeds them waits for the next.
// Where a report is not accepted the last accepted one is shown, with its age;
// only where none is accepted several times in a row are the figures unknown, with
// the reason. The next one that is possible is shown at once.

const (
	// Where a process takes and returns memory all the time, k reports in a row
	// exceed each of n readings once in n+k over k times: here in 74,613.
	recentReadings = 16
	confirmedDoubt = 6
)

type report struct {
	device  *probe.Device
	at      time.Time      // when the probe read it
	arrived time.Time      // no later than this, in fact
	held    quantity.Bytes // what the process holds at least, by any of its figures; a peak is of another moment
}

// bound is what the driver reports as a limit, at a moment.
type bound struct {
	limit quantity.Bytes
	name  string // of the limit, in a reason
	at    time.Time
}

// reports are a row's.
type reports struct {
	shown    report  // the last accepted; its device is nil where there is none
	waiting  report  // exceeds the driver's readings, and is newer
	readings []bound // the recent ones, oldest first
	doubts   int     // ticks in a row in which no report was accepted
	unlisted bool    // the driver does not report what its process uses
	other    otherMemory
	seen     uint64 // the tick of the newest report
}

// take takes the newest report in, and returns the one to show: one without a
// device where there is none, with the reason once that is confirmed. Size is that
// of the device; 0 where it is unknown.
func (r *reports) take(now time.Time, newest report, limit bound, size quantity.Bytes) (shown report, rejected string) {
	if n := len(r.readings); n > 0 && limit.at.Equal(r.readings[n-1].at) {
		r.readings[n-1] = limit
	} else {
		r.readings = append(r.readings[max(n-recentReadings+1, 0):], limit)
	}
	if !newest.fits(size) {
		r.shown, r.waiting = report{}, report{}
		return report{}, exceeds(newest.held, "GPU has "+size.String())
	}
	for _, next := range [...]report{r.waiting, newest} {
		if next.device != nil && !next.same(&r.shown) && r.possible(&next) {
			r.shown = next
		}
	}
	r.waiting = report{}
	if newest.same(&r.shown) {
		r.doubts = 0
		return r.shown, ""
	}
	if newest.at.After(limit.at) {
		r.waiting = newest
	}
	if n := len(r.readings); n < recentReadings && newest.at.Before(r.readings[0].at) {
		return r.shown, "" // what the driver would have said then is not known
	}
	if r.doubts++; r.doubts < confirmedDoubt || r.shown.device != nil && now.Sub(r.shown.at) < staleAfter {
		return r.shown, ""
	}
	r.shown = report{}
	return report{}, exceeds(newest.held, limit.name+" "+limit.limit.String())
}

func (r *report) same(other *report) bool { return r.device == other.device && r.at.Equal(other.at) }

// fits reports whether a device of this size can hold what is reported; 0 is an unknown size.
func (r *report) fits(size quantity.Bytes) bool {
	return size == 0 || r.held <= size+snapshot.Tolerance(size)
}

// possible reports whether the process could hold what it reports. While the
// driver's readings stand still nothing comes and goes: then they alone count.
func (r *reports) possible(next *report) bool {
	lowest, highest := unlimited, quantity.Bytes(0)
	for n := 1; n <= len(r.readings); n++ {
		limit := r.readings[len(r.readings)-n].limit
		if lowest, highest = min(lowest, limit), max(highest, limit); n == confirmed && highest-lowest <= skewTolerance {
			break
		}
	}
	return next.held <= highest+snapshot.Tolerance(highest)
}

func exceeds(reported quantity.Bytes, limit string) string {
	return "reports " + reported.String() + ", the " + limit
}

// reportOf adds up what an answer says of a device. A figure without the others
// counts too: no part of an allocator's memory is larger than what it reserves.
func reportOf(d *probe.Device, at span) report {
	r := report{device: d, at: at.from, arrived: at.to}
	for i := range d.Allocators {
		a := &d.Allocators[i]
		held := valueOf(a.AllocatedBytes) + valueOf(a.CachedBytes) + valueOf(a.FragmentedBytes)
		for _, part := range [...]*quantity.Bytes{a.ReservedBytes, a.ReturnableBytes, a.PendingBytes, a.LargestFreeBytes} {
			held = max(held, valueOf(part))
		}
		for j := range a.Pools {
			p := &a.Pools[j]
			held = max(held, valueOf(p.ReservedBytes), valueOf(p.AllocatedBytes), valueOf(p.FragmentedBytes))
		}
		for j := range a.Largest {
			held = max(held, a.Largest[j].Bytes)
		}
		r.held += held
	}
	return r
}

func valueOf(b *quantity.Bytes) quantity.Bytes {
	if b == nil {
		return 0
	}
	return *b
}
