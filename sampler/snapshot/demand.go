package snapshot

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
)

// minWatched is how long a process is watched before its demand is estimated.
const minWatched = 20 * time.Second

var DemandTimes = [...]time.Duration{10 * time.Second, time.Minute, 5 * time.Minute}

// Demand is how much more memory than now a process will have allocated at its highest point.
type Demand struct {
	Within [len(DemandTimes)]Need
	Ever   quantity.Bytes // the need if the highest peak so far comes again
	Hidden bool           // no sample shows the highest peak, so it may come in each step
	Turns  bool           // the process frees and allocates by turns
	Took   quantity.Bytes // how much the allocators take again if the program behaves as after the last flush
	Peak   quantity.Bytes // the most that the process had allocated in the last ten minutes
	Seen   time.Duration  // how long the process was watched in the last ten minutes
	Known  bool
}

// Need is an estimate. In most cases less than Upper is needed (measured in docs/guard.md).
type Need struct{ Median, Upper quantity.Bytes }

// Upper returns the most that is needed within a time: Ever if the time is longer than all
// DemandTimes, or if samples do not show the peaks.
func (d *Demand) Upper(within time.Duration) quantity.Bytes {
	for i, t := range DemandTimes {
		if within <= t && !d.Hidden {
			return d.Within[i].Upper
		}
	}
	return d.Ever
}

// DemandOf returns a row's demand: the sampler's or, for a past moment, the history's.
func DemandOf(history History, now time.Time, p *Process) Demand {
	if p.Demand.Known || history == nil {
		return p.Demand
	}
	var peaks Peaks
	key := SeriesKey{Metric: metric.Allocated, GPUUUID: p.ID.GPUUUID, Instance: p.ID.Instance, Row: p.ID}
	for _, point := range history.Series(key, now.Add(-peakWindow), now, peakBuckets) {
		if point.Known {
			peaks.put(point.Time.Add(-peakBucket), quantity.Bytes(point.Max))
			peaks.put(point.Time.Add(-peakBucket), quantity.Bytes(point.Min))
		}
	}
	return peaks.Demand(now, p)
}

const (
	peakWindow  = 10 * time.Minute
	peakBucket  = 10 * time.Second
	peakBuckets = int(peakWindow / peakBucket)
)

// Peaks holds the most that a process had allocated in each ten seconds of the last ten minutes.
type Peaks struct {
	buckets [peakBuckets]peak // a ring, by time
	began   time.Time
	seen    time.Time
	sampled quantity.Bytes // the most in any sample
	ever    quantity.Bytes // the highest maximum that the allocator has reported
	median  peak           // most is the median of the buckets' maxima, computed at bucket at
	falls   int            // number of falls in the ten minutes until median.at

	reserved quantity.Bytes // by the process's allocators, in the last sample
	freed    time.Time      // when the allocators last freed cached memory
	most     quantity.Bytes // the most that was reserved in the ten minutes after freed
}

type peak struct {
	at          int64 // the bucket's number
	most, least quantity.Bytes
}

// Add takes the next sample. If the allocator's own maximum has risen, the new maximum counts as a
// peak at now, because the samples may have missed that peak.
func (k *Peaks) Add(now time.Time, p *Process) {
	allocated, known := p.Allocated.Value()
	if !known {
		return
	}
	first, ever := k.began.IsZero(), p.peakAllocated()
	k.seen = now
	k.put(now, allocated)
	if !first && ever > k.ever {
		k.put(now, ever)
	}
	k.sampled, k.ever = max(k.sampled, allocated), max(k.ever, ever)
	k.addReserved(now, p.Reserved().Or(0))
}

// addReserved notes the most that is reserved after a flush, or after the allocator has freed its cache by itself.
func (k *Peaks) addReserved(now time.Time, reserved quantity.Bytes) {
	if k.reserved-reserved >= LeastRemedy {
		k.freed, k.most = now, 0
	}
	if k.reserved = reserved; now.Sub(k.freed) <= peakWindow {
		k.most = max(k.most, reserved)
	}
}

func (k *Peaks) put(at time.Time, allocated quantity.Bytes) {
	if k.began.IsZero() || at.Before(k.began) {
		k.began = at
	}
	number := at.UnixNano() / int64(peakBucket)
	b := &k.buckets[(number%int64(peakBuckets)+int64(peakBuckets))%int64(peakBuckets)]
	if b.at != number {
		*b = peak{number, allocated, allocated}
	}
	b.most, b.least = max(b.most, allocated), min(b.least, allocated)
}

// peakAllocated returns the most that the process has ever allocated, by its allocator's report; 0
// if unknown, or if there are several allocators, whose peaks need not coincide.
func (p *Process) peakAllocated() quantity.Bytes {
	if len(p.Allocators) != 1 {
		return 0
	}
	return p.Allocators[0].PeakAllocated.Or(0)
}

// Demand estimates the demand within each of DemandTimes. Upper is the highest peak in the past twice
// as long. Median is the median of the peaks of ten seconds each, but at most Upper. A forecast of
// allocated memory that is higher counts too, unless the process is young, loads or rebuilds: during
// a load the interval is as wide as the GPU.
func (k *Peaks) Demand(now time.Time, p *Process) Demand {
	allocated, known := p.Allocated.Value()
	ever := p.peakAllocated()
	d := Demand{Ever: max(ever, k.sampled, allocated) - allocated, Hidden: true, Seen: min(now.Sub(k.began), peakWindow)}
	if d.Known = known && !k.began.IsZero() && d.Seen >= minWatched; !d.Known {
		return d
	}
	number := now.UnixNano() / int64(peakBucket)
	var most [len(DemandTimes)]quantity.Bytes
	for _, b := range k.buckets {
		age := number - b.at
		for i, t := range DemandTimes {
			if age >= 0 && age < int64(2*t/peakBucket) {
				most[i] = max(most[i], b.most)
			}
		}
	}
	if k.median.at != number {
		k.median, k.falls = peak{at: number, most: k.middle(number)}, k.fallsUntil(number)
	}
	for i, t := range DemandTimes {
		n := Need{max(min(k.median.most, most[i]), allocated), max(most[i], allocated)}
		for j := range p.PredictedAllocated {
			if f := &p.PredictedAllocated[j]; f.Horizon <= t && (p.Doubt == Believed || p.Doubt == Unsteady) {
				n.Median, n.Upper = max(n.Median, f.Median), max(n.Upper, f.Upper80)
			}
		}
		d.Within[i] = Need{n.Median - allocated, n.Upper - allocated}
	}
	d.Peak = max(most[len(most)-1], allocated)
	d.Ever = max(d.Ever, d.Peak-allocated)
	if !k.freed.IsZero() {
		d.Took = k.most - p.Reserved().Or(0) + p.Cached.Or(0)
	}
	d.Turns = time.Duration(k.falls)*fallEvery > d.Seen
	d.Hidden = ever > max(k.sampled, d.Peak)+Tolerance(ever)
	return d
}

// A program frees and allocates by turns if its memory falls more than once in fallEvery, on
// average. A fall counts if it is more than 1/fallPart of the peak before it.
const (
	fallEvery = 5 * time.Minute
	fallPart  = 20
)

func (k *Peaks) fallsUntil(number int64) (falls int) {
	var top quantity.Bytes // the peak since the last fall
	for at := number - int64(peakBuckets) + 1; at <= number; at++ {
		b := &k.buckets[(at%int64(peakBuckets)+int64(peakBuckets))%int64(peakBuckets)]
		if b.at != at {
			continue
		}
		if top = max(top, b.most); top-b.least > top/fallPart {
			falls, top = falls+1, b.least
		}
	}
	return falls
}

func (k *Peaks) middle(number int64) quantity.Bytes {
	all := make([]quantity.Bytes, 0, peakBuckets)
	for _, b := range k.buckets {
		if number-b.at < int64(peakBuckets) {
			all = append(all, b.most)
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)/2]
}

// Demands holds the peaks of recorded rows. Estimate must get the snapshots in order.
type Demands map[RowID]*Peaks

func (d Demands) Estimate(s *Snapshot) {
	maps.DeleteFunc(d, func(_ RowID, k *Peaks) bool { return s.Time.Sub(k.seen) > peakWindow })
	for i := range s.Rows {
		p := &s.Rows[i]
		if d[p.ID] == nil {
			d[p.ID] = &Peaks{}
		}
		d[p.ID].Add(s.Time, p)
		p.Demand = d[p.ID].Demand(s.Time, p)
	}
}

// Spare returns how much of the memory that a flush frees stays free if the process then allocates needs.
func (p *Process) Spare(needs quantity.Bytes) quantity.Bytes {
	frees := p.Frees()
	return min(max(p.Cached.Or(frees)-needs, 0), frees)
}

// Lasting estimates how much of the memory that a flush frees stays free.
type Lasting struct {
	Demand
	Max quantity.Bytes // how much stays free for five minutes
	Min quantity.Bytes // how much stays free if the highest peak comes again, and the allocator takes even more
}

// LastingOf subtracts from cached memory the memory that the process will take back.
func LastingOf(history History, now time.Time, p *Process) Lasting {
	l := Lasting{Demand: DemandOf(history, now, p)}
	if l.Known {
		needs := max(l.Needs(), l.Ever)
		if l.Turns {
			needs += quantity.Bytes(beyondPeak * float64(p.Allocated.Or(0)+needs))
		}
		l.Max, l.Min = p.Spare(l.Needs()), p.Spare(max(needs, l.Took))
	}
	return l
}

// beyondPeak is a share of the highest peak. If a program frees and allocates by turns, its
// allocator takes that much more than the peak, because blocks do not fit into each other's gaps.
// The value is fitted to the stories of internal/guardlab.
const beyondPeak = .6

// Needs returns the most that is needed within five minutes.
func (d *Demand) Needs() quantity.Bytes { return d.Within[len(d.Within)-1].Upper }

// AtMost returns Max as text, rounded unless it is all that a flush frees.
func (s Lasting) AtMost(freed quantity.Bytes) string {
	if s.Max >= freed {
		return s.Max.String()
	}
	return s.Max.About()
}

// AtLeast returns Min as text.
func (s Lasting) AtLeast() string {
	if s.Min <= 0 {
		return "none"
	}
	return s.Min.About()
}

// LeastRemedy is the smallest amount likely to stay free for which a flush is named as a remedy.
const LeastRemedy = 256 * quantity.MiB

// Remedy returns the benefit of a flush, as a clause after the PID. It is the amount likely to stay
// free even if the process's highest peak comes again, or "" if hardly anything stays free. If the
// demand is unknown, it is the amount that is freed now.
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

// TakenWithin is how long freed memory is watched after a flush.
const TakenWithin = time.Minute

// TakenAgain returns "freed 10.6G, taken again in 0.5 s" if the process has taken most of the freed
// memory again within TakenWithin, otherwise "".
func TakenAgain(freed, left, used quantity.Bytes, after time.Duration) string {
	if freed <= 0 || used-left < freed*4/5 || after > TakenWithin {
		return ""
	}
	return "freed " + freed.String() + ", taken again in " + strconv.FormatFloat(max(after.Seconds(), .1), 'f', 1, 64) + " s"
}
