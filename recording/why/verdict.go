package why

import (
	"fmt"
	"strings"
	"time"

	"vramscope/internal/quantity"
)

// Cause is the cause in a verdict, one of a closed list.
type Cause string

const (
	OwnGrowth     Cause = "own_growth"
	NeighbourTook Cause = "neighbour"
	Fragmentation Cause = "fragmentation"
	Leak          Cause = "leak"
	LimitSet      Cause = "limit"
	TooLarge      Cause = "too_large"
	CannotTell    Cause = "cannot_tell"
)

// Title returns the cause in words.
func (c Cause) Title() string {
	return map[Cause]string{
		OwnGrowth: "own growth", NeighbourTook: "a neighbour took it", Fragmentation: "fragmentation", Leak: "a leak",
		LimitSet: "a limit was set", TooLarge: "too large by itself", CannotTell: "cannot tell",
	}[c]
}

// Verdict is the cause that the evidence proves, with its figures.
type Verdict struct {
	Cause   Cause
	Reasons []string       // sentences with the figures that decide
	Missing []string       // the missing evidence, for CannotTell
	Since   time.Time      // when the leak began
	Leaked  quantity.Bytes // memory leaked after Since
	By      *Growth        // the growth behind NeighbourTook
	Advice  []Advice       // at most three, best first
	None    string         // why there is no advice, "" if there is some
}

// Brief returns the cause in a few words, "" if unknown. For a leak it adds the mean rate from its
// beginning to at, the time of the error: "leak 25M/s".
func (v *Verdict) Brief(at time.Time) string {
	switch took := at.Sub(v.Since).Seconds(); {
	case v.Cause == CannotTell:
		return ""
	case v.Cause == Leak && took > 0:
		return "leak " + quantity.Bytes(float64(v.Leaked)/took).String() + "/s"
	default:
		return v.Cause.Title()
	}
}

const (
	// The cause can be fragmentation only if at least this share of the reserved memory was free.
	fragmentedShare = 0.1
	// The growth of the neighbours as a share of the process's own growth: the least for the neighbours
	// to be the cause, and the most for the process to be the cause. docs/why.md has all conditions.
	neighbourShare, ownShare = 0.75, 1.0 / 3
	// Two amounts of memory count as equal if they differ by at most samePeak.
	samePeak = 256 * quantity.MiB
)

// Judge finds the cause. It tries causes that do not depend on other processes first.
func Judge(e *Evidence) Verdict {
	v := judge(e)
	if h := e.keeper(); h != nil && (v.Cause == Leak || v.Cause == OwnGrowth) {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%s of the %s allocated was in %s.", h.Bytes, e.Event.OutOfMemory.Allocated.Or(0), heldBy(h)))
	}
	v.Advice = advise(e, &v)
	v.None = noAdvice(e, &v)
	return v
}

func judge(e *Evidence) Verdict {
	requested, known := e.Requested.Value()
	if !known {
		return unknown("what the process asked for: its probe did not see the allocation that failed")
	}
	capacity, known := e.Capacity.Value()
	if !known {
		return unknown("how much memory the device has")
	}
	if requested > capacity {
		return Verdict{Cause: TooLarge, Reasons: []string{
			fmt.Sprintf("It asked for %s at once, and the device has %s.", requested, e.size()),
		}}
	}
	free, known := e.Free.Value()
	used := e.Used.Or(0)
	if limit := e.MPSLimit.Or(0); e.overMPSLimit() > 0 && known && free >= requested {
		return Verdict{Cause: LimitSet, Reasons: []string{
			fmt.Sprintf("As a client of MPS it may use %s of the device's %s (CUDA_MPS_PINNED_DEVICE_MEM_LIMIT in its environment), and it used %s%s.",
				limit, e.Total(), wordsIf(e.UsedLeast, "at least "), used),
			fmt.Sprintf("About %s was free on the device, by the driver: without the limit it would have fit.", free),
		}}
	}
	if withheld, ok := e.Withheld.Value(); ok {
		return limited(e, requested, free-withheld, withheld)
	}
	if !known || e.FreeAbout && free >= requested {
		return unknown("what was free on the device when the allocation failed")
	}
	if limit, ok := e.Limit.Value(); ok && e.Reserved.Known() && e.Reserved.Or(0)+requested > limit && free >= requested {
		return Verdict{Cause: LimitSet, Reasons: []string{
			fmt.Sprintf("PyTorch may reserve %s of the device's %s (set_per_process_memory_fraction), and it had %s.", limit, e.Total(), e.Reserved.Or(0)),
			fmt.Sprintf("%s was free on the device: without the limit it would have fit.", free),
		}}
	}
	if free >= requested {
		return unknown(fmt.Sprintf("why %s failed with %s free: a limit that the process does not report (MPS), or memory that was freed in that moment", requested, free))
	}
	if v, ok := fragmented(e, requested, free); ok {
		return v
	}
	if !e.Used.Known() {
		return unknown("what the process itself used")
	}
	if other := used - e.Reserved.Or(used); e.Reserved.Known() && requested+other > capacity {
		return Verdict{Cause: TooLarge, Reasons: []string{fmt.Sprintf(
			"It asked for %s at once. The device has %s, and the process's context takes %s of it.", requested, e.size(), other)}}
	}
	return grown(e, requested, free, used, capacity)
}

// limited judges an allocation that failed although the driver had memory for it.
func limited(e *Evidence, requested, free, withheld quantity.Bytes) Verdict {
	if v, ok := fragmented(e, requested, free); ok {
		return v
	}
	unused := fmt.Sprintf("CUDA had %s free for it; about %s more of the device was used by no process, by the driver", free, withheld)
	if !strings.Contains(e.Process.Type, "M") {
		return unknown("why it failed: " + unused + "; a limit that the process does not report, or memory that was taken and freed in that moment")
	}
	return Verdict{Cause: LimitSet, Reasons: []string{
		unused + ".", "It is a client of MPS: most likely CUDA_MPS_PINNED_DEVICE_MEM_LIMIT in its environment, or its server's default, keeps that from it.",
	}}
}

// fragmented returns a verdict if the block would have fit with the process's free memory in one piece.
func fragmented(e *Evidence, requested, free quantity.Bytes) (Verdict, bool) {
	reserved, known := e.Reserved.Value()
	allocated, both := e.Allocated.Value()
	inside := reserved - allocated
	if !known || !both || inside < requested || float64(inside) < fragmentedShare*float64(reserved) || e.LargestFree.Or(0) >= requested {
		return Verdict{}, false
	}
	v := Verdict{Cause: Fragmentation, Reasons: []string{fmt.Sprintf(
		"A block of %s did not fit, although %s of the %s that PyTorch has reserved was free.", requested, inside, reserved)}}
	if largest, ok := e.LargestFree.Value(); ok {
		v.Reasons = append(v.Reasons, fmt.Sprintf("Its largest free block was %s, and the device had %s free.", largest, free))
	} else {
		v.Reasons = append(v.Reasons, fmt.Sprintf("PyTorch had freed what it could, and the device had %s free.", free))
	}
	return v, true
}

// grown decides between the process and its neighbours: without the growth of one of them the
// allocation would have fit.
func grown(e *Evidence, requested, free, used, capacity quantity.Bytes) Verdict {
	needed, short := used+requested, requested-free
	leak, leaking := leakOf(e)
	others := capacity - free - used // used by everything else
	if n := len(e.Recent); n > 0 {
		others = e.Recent[n-1].Others.Or(others)
	}
	own := func(reasons ...string) Verdict {
		if leaking {
			leak.Reasons = append(leak.Reasons, reasons...)
			return leak
		}
		return Verdict{Cause: OwnGrowth, Reasons: reasons}
	}
	prefix := wordsIf(e.UsedLeast, "at least ")
	needs := fmt.Sprintf("It used %s%s and asked for %s more: %s%s of %s.", prefix, used, requested, prefix, needed, e.size())
	switch {
	case needed > capacity:
		return own(needs, "That does not fit, whatever the other processes use.")
	case others < short:
		return own(needs, fmt.Sprintf("All else on the device used %s%s: without it, it would not have fit either.", wordsIf(e.UsedLeast, "at most "), max(others, 0)))
	}
	reference, before, ok := referenceOf(e, needed, short)
	switch before := "what the process and its neighbours used before: "; {
	case !ok && len(e.Recent) > 2:
		return unknown(before + "no sample has the process's memory")
	case !ok:
		return unknown(before + map[bool]string{true: "there is a gap in the history", false: "the history begins too late"}[e.Gap])
	}
	growth, ownGrowth := others-reference.Others.Or(others), needed-reference.Used.Or(0)
	if end, came := cameLater(e, needed); came && !before && !leaking && growth >= short {
		return own(needs, fmt.Sprintf("All else on the device used %s. That grew, too, but it was over at %s, before the process began to grow.",
			others, end.Format(time.TimeOnly)))
	}
	rest := fmt.Sprintf("all else on the device by %s", growth)
	if growth < 0 {
		rest = fmt.Sprintf("all else on the device shrank by %s", -growth)
	}
	switch {
	case growth >= short && (before || leaking && growth >= leak.Leaked || !leaking && float64(growth) >= neighbourShare*float64(ownGrowth)):
		return neighbourOf(e, reference, growth, short, before)
	case before:
		return unknown(fmt.Sprintf("why it failed: at %s it had as much, and since then nothing else has grown by the %s that it lacked",
			reference.Time.Format(time.TimeOnly), short))
	case !leaking && e.Recent[0].Used.Or(0) > 0 && e.Event.Time.Sub(e.Recent[0].Time) < recentTime-lateTime: // the process is older than the samples
		return unknown(fmt.Sprintf("which of them grew before %s, when %s: since then it grew by %s with that, and %s",
			reference.Time.Format(time.TimeOnly), map[bool]string{true: "a gap in the history ends", false: "the history begins"}[e.Gap], ownGrowth, rest))
	case leaking, float64(growth) <= ownShare*float64(ownGrowth), growth < short:
		return own(needs, fmt.Sprintf("Since %s it has grown by %s with that, and %s.",
			reference.Time.Format(time.TimeOnly), ownGrowth, rest))
	}
	return unknown(fmt.Sprintf("which of them was to have the memory: since %s it grew by %s, and %s",
		reference.Time.Format(time.TimeOnly), ownGrowth, rest))
}

// cameLater reports whether the process grew only after everything else on the device had stopped
// growing, and when that growth was over.
func cameLater(e *Evidence, needed quantity.Bytes) (over time.Time, later bool) {
	var others []Use
	for _, s := range e.Recent {
		if v, ok := s.Others.Value(); ok {
			others = append(others, Use{s.Time, v})
		}
	}
	if len(others) < 2 {
		return over, false
	}
	g, ok := growthOf(others, others[0].Time)
	if !ok {
		return over, false
	}
	var peak quantity.Bytes // the process's peak before the others grew
	var began time.Time     // when the process was last no larger than that
	for _, s := range e.Recent {
		if !s.Time.After(g.Began) {
			peak = max(peak, s.Used.Or(0))
		}
	}
	for _, s := range e.Recent {
		if s.Used.Known() && s.Used.Or(0) <= peak+samePeak {
			began = s.Time
		}
	}
	return g.End, 2*peak < needed && !began.Before(g.End)
}

// referenceOf returns the moment to compare with: the last one at which the process had as much
// as it needed now (before is true), or the beginning of the last minutes. "As much" allows a
// difference of samePeak, but at most half the shortage, because a slow leak always has nearly as much
// as it needs.
func referenceOf(e *Evidence, needed, short quantity.Bytes) (reference Sample, before, ok bool) {
	same := min(samePeak, short/2)
	for _, list := range [][]Sample{e.Recent, e.Long} {
		for i := len(list) - 2; i >= 0; i-- {
			if list[i].Used.Known() && list[i].Others.Known() && list[i].Used.Or(0) >= needed-same && needed > same {
				reference = list[i]
				if i > 0 && list[i-1].Others.Known() && list[i-1].Others.Or(0) < reference.Others.Or(0) {
					// Used is the maximum in this stretch of time, and Others the last value, which
					// may come after the maximum.
					reference.Time, reference.Others = list[i-1].Time, list[i-1].Others
				}
				return reference, true, true
			}
		}
	}
	if len(e.Recent) < 3 || !e.Recent[0].Used.Known() || !e.Recent[0].Others.Known() {
		return Sample{}, false, false
	}
	return e.Recent[0], false, true
}

func unknown(missing ...string) Verdict { return Verdict{Cause: CannotTell, Missing: missing} }
