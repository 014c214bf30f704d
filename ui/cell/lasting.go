package cell

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// watchedLeast is how long a process is watched before its needs are estimated.
const watchedLeast = 20 * time.Second

// Lasting estimates how much of the memory that a flush frees stays free.
type Lasting struct {
	Most  quantity.Bytes // if the process needs what it needed in the last minutes
	Least quantity.Bytes // if it needs what it needed at its highest peak
	Needs quantity.Bytes // what the peak of the last minutes takes back
	Ever  quantity.Bytes // its highest peak, as its allocator reports; 0 where that is unknown
	Seen  time.Duration  // how long it was watched, of these minutes
	Known bool
}

// LastingOf subtracts what the peak of the last minutes takes back from what is
// cached. A program that reports at the trough of each of its steps has peaks that
// no sample shows: the allocator's own maximum has them, and no time.
func LastingOf(history snapshot.History, now time.Time, p *snapshot.Process) Lasting {
	allocated, reported := p.Allocated.Value()
	peak, seen, ok := AllocatedPeak(history, now, p.ID)
	s := Lasting{Seen: seen, Known: ok && reported && seen >= watchedLeast}
	if !s.Known {
		return s
	}
	left := func(needs quantity.Bytes) quantity.Bytes {
		return min(max(p.Cached.Or(0)-needs, 0), p.Frees())
	}
	s.Needs = max(peak-allocated, 0)
	s.Most = left(s.Needs)
	s.Least = s.Most
	if len(p.Allocators) == 1 { // peaks of several allocators need not coincide
		if s.Ever = p.Allocators[0].PeakAllocated.Or(0); s.Ever > peak {
			s.Least = left(s.Ever - allocated)
		}
	}
	return s
}

// AtMost is Most as text, rounded where it is less than what is freed.
func (s Lasting) AtMost(freed quantity.Bytes) string {
	if s.Most >= freed {
		return s.Most.String()
	}
	return About(s.Most)
}

// AtLeast is Least as text.
func (s Lasting) AtLeast() string {
	if s.Least <= 0 {
		return "none"
	}
	return About(s.Least)
}

// Minutes is "10 min", or "40 s" below a minute.
func Minutes(d time.Duration) string {
	if d < time.Minute {
		return strconv.Itoa(int(d/time.Second)) + " s"
	}
	return strconv.Itoa(int(d/time.Minute)) + " min"
}

// About is an amount in two digits, for an estimate.
func About(amount quantity.Bytes) string {
	step := quantity.Bytes(1)
	for unit := quantity.KiB; unit <= amount; unit *= 1024 {
		switch {
		case amount < 10*unit:
			step = unit / 10
		case amount < 100*unit:
			step = unit
		default:
			step = 10 * unit
		}
	}
	text := ((amount + step/2) / step * step).String()
	if i := len(text) - 2; strings.Contains(text, ".") && text[i] == '0' {
		text = strings.TrimSuffix(text[:i], ".") + text[i+1:]
	}
	return text
}

// peakWindow is how far back the peak of allocated memory counts.
const peakWindow = 10 * time.Minute

// AllocatedPeak is the most that a row had allocated within peakWindow, and how
// long it was watched in that time.
func AllocatedPeak(history snapshot.History, now time.Time, id snapshot.RowID) (amount quantity.Bytes, seen time.Duration, ok bool) {
	if history == nil {
		return 0, 0, false
	}
	key := snapshot.SeriesKey{Metric: metric.Allocated, GPUUUID: id.GPUUUID, Instance: id.Instance, Row: id}
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

// SizesKnown reports whether the size of any of the caches is known.
func SizesKnown(caches []snapshot.Evictable) bool {
	return slices.ContainsFunc(caches, func(c snapshot.Evictable) bool { return c.Bytes.Known() })
}

// SizeOf is a size in running text.
func SizeOf(size snapshot.Bytes, unknown string) string {
	if v, ok := size.Value(); ok {
		return v.String()
	}
	return unknown
}
