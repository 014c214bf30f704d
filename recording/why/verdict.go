package why

import (
	"fmt"
	"strconv"
	"time"

	"vramscope/internal/quantity"
)

// Cause is a verdict's, of a closed list.
type Cause string

// The causes.
const (
	OwnGrowth     Cause = "own_growth"
	NeighbourTook Cause = "neighbour"
	Fragmentation Cause = "fragmentation"
	Leak          Cause = "leak"
	LimitSet      Cause = "limit"
	TooLarge      Cause = "too_large"
	CannotTell    Cause = "cannot_tell"
)

// Title is the cause in words.
func (c Cause) Title() string {
	switch c {
	case OwnGrowth:
		return "own growth"
	case NeighbourTook:
		return "a neighbour took it"
	case Fragmentation:
		return "fragmentation"
	case Leak:
		return "a leak"
	case LimitSet:
		return "a limit was set"
	case TooLarge:
		return "too large by itself"
	default:
		return "cannot tell"
	}
}

// Verdict is what the evidence proves.
type Verdict struct {
	Cause   Cause
	Reasons []string       // sentences with the figures that decide
	Missing []string       // what would have to be known; of CannotTell
	Since   time.Time      // of a leak
	Leaked  quantity.Bytes // since then
	By      *Growth        // of NeighbourTook
	Advice  []Advice       // at most three, best first
}

// Growth is how a neighbour grew. Neighbour is nil where no process whose use is
// known accounts for it.
type Growth struct {
	Neighbour  *Neighbour
	From, To   quantity.Bytes
	Began, End time.Time
}

// The rules' thresholds.
const (
	// Below this share of reserved, free memory between blocks is no fragmentation.
	fragmentedShare = 0.1
	// Two that grew alike: a neighbour is the cause with so much of the process's own
	// growth, the process with so little. In between neither is.
	neighbourShare, ownShare = 0.75, 1.0 / 3
	// A process needs no more than before if it needs no more than this above it.
	samePeak = 256 * quantity.MiB
)

// Judge finds the cause. Its order is that of certainty: what holds whatever the
// others did comes first.
func Judge(e *Evidence) Verdict {
	v := judge(e)
	v.Advice = advise(e, &v)
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
			fmt.Sprintf("It asked for %s at once, and the device has %s.", requested, capacity),
		}}
	}
	free, known := e.Free.Value()
	if !known {
		return unknown("what was free on the device when the allocation failed")
	}
	if limit, ok := e.Limit.Value(); ok && e.Reserved.Known() && e.Reserved.Or(0)+requested > limit && free >= requested {
		return Verdict{Cause: LimitSet, Reasons: []string{
			fmt.Sprintf("PyTorch may reserve %s of the device's %s (set_per_process_memory_fraction), and it had %s.", limit, capacity, e.Reserved.Or(0)),
			fmt.Sprintf("%s was free on the device: without the limit it would have fit.", free),
		}}
	}
	if free >= requested {
		return unknown(fmt.Sprintf("why %s failed with %s free: a limit that the process does not report (MPS), or memory that was freed in that moment", requested, free))
	}
	if v, ok := fragmented(e, requested, free); ok {
		return v
	}
	used, known := e.Used.Value()
	if !known {
		return unknown("what the process itself used")
	}
	if other := used - e.Reserved.Or(used); e.Reserved.Known() && requested+other > capacity {
		return Verdict{Cause: TooLarge, Reasons: []string{fmt.Sprintf(
			"It asked for %s at once. The device has %s, and the process's context takes %s of it.", requested, capacity, other)}}
	}
	return grown(e, requested, free, used, capacity)
}

// fragmented is a block that would have fit inside, had the free memory been in one piece.
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

// grown decides between the process and its neighbours: what did not fit now would
// have, had one of them not grown.
func grown(e *Evidence, requested, free, used, capacity quantity.Bytes) Verdict {
	needed, short := used+requested, requested-free
	leak, leaking := leakOf(e)
	others := capacity - free - used // by everything else
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
	needs := fmt.Sprintf("It used %s and asked for %s more: %s of %s.", used, requested, needed, capacity)
	switch {
	case needed > capacity:
		return own(needs, "That does not fit, whatever the other processes use.")
	case others < short:
		return own(needs, fmt.Sprintf("All else on the device used %s: without it, it would not have fit either.", max(others, 0)))
	}
	reference, before, ok := referenceOf(e, needed, short)
	if !ok {
		return unknown("what the process and its neighbours used before: the history begins too late")
	}
	growth, ownGrowth := others-reference.Others.Or(others), needed-reference.Used.Or(0)
	if end, came := cameLater(e, needed); came && !before && !leaking && growth >= short {
		return own(needs, fmt.Sprintf("All else on the device used %s. That grew, too, but it was over at %s, before the process began to grow.",
			others, end.Format(time.TimeOnly)))
	}
	switch {
	case growth >= short && (before || leaking && growth >= leak.Leaked || !leaking && float64(growth) >= neighbourShare*float64(ownGrowth)):
		return neighbourOf(e, reference, growth, short, before)
	case before:
		return unknown(fmt.Sprintf("why it failed: at %s it had as much, and since then nothing else has grown by the %s that it lacked",
			reference.Time.Format(time.TimeOnly), short))
	case !leaking && beginsLate(e):
		return unknown(fmt.Sprintf("which of them grew before %s, when the history begins: since then it grew by %s with that, and all else on the device by %s",
			reference.Time.Format(time.TimeOnly), ownGrowth, growth))
	case leaking, float64(growth) <= ownShare*float64(ownGrowth), growth < short:
		return own(needs, fmt.Sprintf("Since %s it has grown by %s with that, and all else on the device by %s.",
			reference.Time.Format(time.TimeOnly), ownGrowth, growth))
	}
	return unknown(fmt.Sprintf("which of them was to have the memory: since %s it grew by %s, and all else on the device by %s",
		reference.Time.Format(time.TimeOnly), ownGrowth, growth))
}

// beginsLate reports that the process was there before the history began, minutes ago.
func beginsLate(e *Evidence) bool {
	first := e.Recent[0]
	return first.Used.Or(0) > 0 && e.Event.Time.Sub(first.Time) < recentTime*9/10
}

// cameLater reports whether the process grew only after all else on the device had
// grown, and when that was over: it found the memory taken.
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
	var peak quantity.Bytes // of the process, before the others grew
	var onset time.Time     // when it was last no larger than that
	for _, s := range e.Recent {
		if !s.Time.After(g.Began) {
			peak = max(peak, s.Used.Or(0))
		}
	}
	for _, s := range e.Recent {
		if s.Used.Known() && s.Used.Or(0) <= peak+samePeak {
			onset = s.Time
		}
	}
	return g.End, 2*peak < needed && !onset.Before(g.End)
}

// referenceOf is the moment to compare with: the last one at which the process had
// as much as it needed now (before is true), or the beginning of the last minutes.
//
// "As much" is less exact than what it lacked: a slow leak has nearly as much, always.
func referenceOf(e *Evidence, needed, short quantity.Bytes) (reference Sample, before, ok bool) {
	same := min(samePeak, short/2)
	for _, list := range [][]Sample{e.Recent, e.Long} {
		for i := len(list) - 2; i >= 0; i-- {
			if list[i].Used.Known() && list[i].Others.Known() && list[i].Used.Or(0) >= needed-same && needed > same {
				reference = list[i]
				if i > 0 && list[i-1].Others.Known() && list[i-1].Others.Or(0) < reference.Others.Or(0) {
					// Used is the most in this stretch of time, Others the last: it may have come after.
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

// neighbourOf names who grew since the reference.
func neighbourOf(e *Evidence, reference Sample, growth, short quantity.Bytes, before bool) Verdict {
	v := Verdict{Cause: NeighbourTook}
	var most quantity.Bytes
	for i := range e.Neighbours {
		n := &e.Neighbours[i]
		for _, used := range [][]Use{n.Used, n.Before} {
			if g, ok := growthOf(used, reference.Time); ok {
				if rise := g.To - g.From; rise > most {
					g.Neighbour, most, v.By = n, rise, &g
				}
				break
			}
		}
	}
	if v.By == nil || most < growth/2 {
		v.By = &Growth{From: reference.Others.Or(0), To: reference.Others.Or(0) + growth, Began: reference.Time, End: e.Event.Time}
		v.Reasons = append(v.Reasons, fmt.Sprintf(
			"Memory of others on the device grew by %s since %s; no process whose use is known accounts for it.", growth, reference.Time.Format(time.TimeOnly)))
	} else {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%s grew from %s to %s between %s and %s.", nameOf(&v.By.Neighbour.Process),
			v.By.From, v.By.To, v.By.Began.Format(time.TimeOnly), v.By.End.Format(time.TimeOnly)))
	}
	v.Reasons = append(v.Reasons, fmt.Sprintf("All else on the device grew by %s, and %s was lacking.", growth, short))
	if before {
		v.Reasons = append(v.Reasons, fmt.Sprintf("The process needed no more than it had at %s.", reference.Time.Format(time.TimeOnly)))
	}
	return v
}

// growthOf is how a use has changed since a moment; false where its beginning is not known.
func growthOf(used []Use, since time.Time) (g Growth, ok bool) {
	start := -1
	for i := range used {
		if !used[i].Time.After(since) || i == 0 && (used[0].Used == 0 || used[0].Time.Sub(since) <= after) {
			start = i
		}
	}
	if start < 0 || start == len(used)-1 {
		return g, false
	}
	g.From, g.To = used[start].Used, used[len(used)-1].Used
	tenth := (g.To - g.From) / 10
	g.Began, g.End = used[start].Time, used[len(used)-1].Time
	for _, u := range used[start:] {
		if u.Used <= g.From+tenth {
			g.Began = u.Time
		}
	}
	for i := len(used) - 1; i >= start && used[i].Used >= g.To-tenth; i-- {
		g.End = used[i].Time
	}
	return g, true
}

func unknown(missing ...string) Verdict { return Verdict{Cause: CannotTell, Missing: missing} }

func decimal(n int) string { return strconv.Itoa(n) }
