package snapshot

import (
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
)

// minWatched is how long a process is watched before its needs are estimated.
const minWatched = 20 * time.Second

// Lasting estimates how much of the memory that a flush frees stays free.
type Lasting struct {
	Max   quantity.Bytes // if the process needs what it needed in the last minutes
	Min   quantity.Bytes // if it needs what it needed at its highest peak
	Needs quantity.Bytes // what the peak of the last minutes takes back
	Ever  quantity.Bytes // its highest peak, as its allocator reports; 0 where that is unknown
	Seen  time.Duration  // how long it was watched in the last minutes
	Known bool
}

// LastingOf subtracts from cached memory what the next peak takes back. A program that reports at
// the low point of each step has peaks that no sample shows. The allocator's own maximum includes
// them, but has no time.
func LastingOf(history History, now time.Time, p *Process) Lasting {
	allocated, reported := p.Allocated.Value()
	peak, seen, ok := AllocatedPeak(history, now, p.ID)
	s := Lasting{Seen: seen, Known: ok && reported && seen >= minWatched}
	if !s.Known {
		return s
	}
	left := func(needs quantity.Bytes) quantity.Bytes {
		return min(max(p.Cached.Or(0)-needs, 0), p.Frees())
	}
	s.Needs = max(peak-allocated, 0)
	s.Max = left(s.Needs)
	s.Min = s.Max
	if len(p.Allocators) == 1 { // peaks of several allocators need not coincide
		if s.Ever = p.Allocators[0].PeakAllocated.Or(0); s.Ever > peak {
			s.Min = left(s.Ever - allocated)
		}
	}
	return s
}

// AtMost is Max as text, rounded unless it is all that a flush frees.
func (s Lasting) AtMost(freed quantity.Bytes) string {
	if s.Max >= freed {
		return s.Max.String()
	}
	return s.Max.About()
}

// AtLeast is Min as text.
func (s Lasting) AtLeast() string {
	if s.Min <= 0 {
		return "none"
	}
	return s.Min.About()
}

// peakWindow is how far back a peak of allocated memory counts.
const peakWindow = 10 * time.Minute

// AllocatedPeak is a row's highest allocated memory within peakWindow, and how long it was
// watched in that time.
func AllocatedPeak(history History, now time.Time, id RowID) (amount quantity.Bytes, seen time.Duration, ok bool) {
	if history == nil {
		return 0, 0, false
	}
	key := SeriesKey{Metric: metric.Allocated, GPUUUID: id.GPUUUID, Instance: id.Instance, Row: id}
	for _, point := range history.Series(key, now.Add(-peakWindow), now, int(peakWindow/(10*time.Second))) {
		if !point.Known {
			continue
		}
		if !ok {
			seen = now.Sub(point.Time) + 10*time.Second
		}
		amount, ok = max(amount, quantity.Bytes(point.Max)), true
	}
	return amount, min(seen, peakWindow), ok
}

// LeastRemedy is the smallest amount likely to stay free for which a flush is named as a remedy.
const LeastRemedy = 256 * quantity.MiB

// Remedy is the benefit of a flush, as a clause after the PID: the amount likely to stay free
// even if the process's highest peak comes again; the amount freed now, while its peak is
// unknown; "" if hardly anything stays.
func (s Lasting) Remedy(p *Process) string {
	switch {
	case !s.Known:
		return "frees " + p.ReturnableBound().Amount(p.Frees()) + " now"
	case s.Min < LeastRemedy:
		return ""
	case s.Min >= p.Frees():
		return "keeps " + s.Min.String() + " free"
	default:
		return "keeps " + s.Min.About() + " free"
	}
}

// TakenWithin is how long what a flush has freed is watched.
const TakenWithin = time.Minute

// TakenAgain says that a process has taken most of what a flush freed again, after so long:
// "freed 10.6G, taken again in 0.5 s". It is "" where it has not. The result of the flush alone
// would say that this much is free now.
func TakenAgain(freed, left, used quantity.Bytes, after time.Duration) string {
	if freed <= 0 || used-left < freed*4/5 || after > TakenWithin {
		return ""
	}
	return "freed " + freed.String() + ", taken again in " + strconv.FormatFloat(max(after.Seconds(), .1), 'f', 1, 64) + " s"
}
