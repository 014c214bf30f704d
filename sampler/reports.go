package sampler

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// Any process may report anything. A report counts only if its process can hold that much: at most
// the memory that the driver reports for the process, plus snapshot.Tolerance. If the driver reports
// none for the process, the limit is the used memory of the device, less the memory of the other
// processes. If the device's used memory is unknown too, the limit is the size of the device, as
// reported by the driver or by the probe itself.
//
// The driver and the probe are read at different moments (skew), and nothing bounds a process's memory
// between two of the driver's readings. So a report is compared with the highest of the recent
// readings. A report that is newer than all of these and exceeds them waits for the next reading. While
// a report is not accepted, the last accepted report is shown, with its age. After several rejections in
// a row, or at once if a report exceeds the size of the device, the figures are unknown, with the reason.
// The next report that is possible is shown at once.

const (
	// If a process takes and frees memory all the time, the chance that k reports in a row exceed all
	// of n readings is one in (n+k choose k): here one in 74,613.
	recentReadings = 16
	confirmedDoubt = 6
)

type report struct {
	device  *probe.Device
	at      time.Time      // when the probe read it
	arrived time.Time      // the latest time at which the probe can have read it
	held    quantity.Bytes // the least that the process holds; peaks do not count, because they are of another moment
}

// bound is a limit that the driver's figures set at a moment.
type bound struct {
	limit quantity.Bytes
	name  string // the name of the limit in a reason
	at    time.Time
}

// reports holds the reports of a probe on one row.
type reports struct {
	shown    report  // the last accepted report; its device is nil if there is none
	waiting  report  // a report that exceeds the driver's readings, and is newer than they are
	readings []bound // the driver's recent readings, oldest first
	doubts   int     // ticks in a row in which no report was accepted
	unlisted bool    // the driver does not report the process's used memory
	other    otherMemory
	seen     uint64 // the tick of the newest report
}

// take takes the newest report and returns the report to show. If shown has no device, no report is
// shown, and rejected is the reason, "" until confirmed. size is the device's size; 0 if unknown.
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
		return r.shown, "" // the driver's figure at that time is unknown
	}
	if r.doubts++; r.doubts < confirmedDoubt || r.shown.device != nil && now.Sub(r.shown.at) < staleAfter {
		return r.shown, ""
	}
	r.shown = report{}
	return report{}, exceeds(newest.held, limit.name+" "+limit.limit.String())
}

func (r *report) same(other *report) bool { return r.device == other.device && r.at.Equal(other.at) }

// fits reports whether a device of this size can hold the reported memory. A size of 0 is unknown.
func (r *report) fits(size quantity.Bytes) bool {
	return size == 0 || r.held <= size+snapshot.Tolerance(size)
}

// possible reports whether the process could hold the reported memory. If the driver's last readings
// (as many as confirmed) hardly differ, no memory came or went, and only these readings count.
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

// reportOf sums up a probe's report on a device. Each figure that it compares is a lower bound of the
// memory that the allocator holds.
func reportOf(d *probe.Device, at span) report {
	r := report{device: d, at: at.from, arrived: at.to}
	for i := range d.Allocators {
		a := &d.Allocators[i]
		held := max(quantity.Sum(a.Allocated, a.Cached, a.Fragmented).Or(0), a.Reserved.Or(0), a.Returnable.Or(0), a.Pending.Or(0), a.LargestFree.Or(0))
		for j := range a.Pools {
			p := &a.Pools[j]
			held = max(held, p.Reserved.Or(0), p.Allocated.Or(0), p.Fragmented.Or(0))
		}
		for j := range a.Largest {
			held = max(held, a.Largest[j].Bytes)
		}
		r.held += held
	}
	return r
}
