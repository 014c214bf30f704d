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

// watchedLeast is for how long a process must have been seen before anything
// is said of what it will need.
const watchedLeast = 20 * time.Second

// stay is how much of what a flush returns would stay away.
type Lasting struct {
	Most  quantity.Bytes // because the process has not needed it lately
	Least quantity.Bytes // if it comes to need what it ever did
	Needs quantity.Bytes // what its peak of the last minutes needs again
	Ever  quantity.Bytes // its highest peak, as its allocator tells; 0 where it does not
	Seen  time.Duration  // how much of these minutes is known
	Known bool
}

// lasting is how much of what a flush returns would stay away: what is cached,
// less what the peak of the last minutes needs again. A peak between two looks
// is not seen, but the allocator knows that there was one.
func LastingOf(history snapshot.History, now time.Time, p *snapshot.Process) Lasting {
	allocated, told := p.Allocated.Value()
	peak, seen, ok := AllocatedPeak(history, now, p.ID)
	s := Lasting{Seen: seen, Known: ok && told && seen >= watchedLeast}
	if !s.Known {
		return s
	}
	left := func(needs quantity.Bytes) quantity.Bytes {
		return min(max(p.Cached.Or(0)-needs, 0), ReturnableOf(p))
	}
	s.Needs = max(peak-allocated, 0)
	s.Most = left(s.Needs)
	s.Least = s.Most
	if len(p.Allocators) == 1 { // peaks of several allocators are of several moments
		if s.Ever = p.Allocators[0].PeakAllocated.Or(0); s.Ever > peak {
			s.Least = left(s.Ever - allocated)
		}
	}
	return s
}

// atMost is most for an estimate, never more than what is returned.
func (s Lasting) AtMost(returned quantity.Bytes) string {
	if s.Most >= returned {
		return s.Most.String()
	}
	return About(s.Most)
}

// minutes is a time as a person says it: "10 min".
func Minutes(d time.Duration) string {
	if d < time.Minute {
		return strconv.Itoa(int(d/time.Second)) + " s"
	}
	return strconv.Itoa(int(d/time.Minute)) + " min"
}

// about is an amount in two digits, for an estimate.
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

// peakWindow is how far back the peak of allocated memory counts: what was
// needed in the last ten minutes will soon be needed again.
const peakWindow = 10 * time.Minute

// allocatedPeak is the most that a row had allocated in the last ten minutes.
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

// returnableOf is what a flush gives back; of an allocator that does not say,
// at most what it caches.
func ReturnableOf(p *snapshot.Process) quantity.Bytes {
	return max(p.Returnable.Or(p.Cached.Or(0)), 0)
}

// sizesTold reports whether a program tells the size of any of its caches.
func SizesTold(caches []snapshot.Evictable) bool {
	return slices.ContainsFunc(caches, func(c snapshot.Evictable) bool { return c.Bytes.Known() })
}

// sizeOf is a size in running text.
func SizeOf(size snapshot.Bytes, unknown string) string {
	if v, ok := size.Value(); ok {
		return v.String()
	}
	return unknown
}
