package why

import (
	"cmp"

	"vramscope/guard/advice"
	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
)

// Advice is a change that would have helped.
type Advice struct {
	advice.Advice
	Enough bool // the change brings as much as was lacking
}

const (
	mostAdvice  = 3
	leastAdvice = quantity.MiB
)

// advise returns at most mostAdvice changes that would have helped, by the rules of guard/advice.
// Those that are enough come first.
func advise(e *Evidence, v *Verdict) []Advice {
	requested, known := e.Requested.Value()
	if !known || v.Cause == TooLarge || v.Cause == CannotTell {
		return nil
	}
	lacking := lackingOf(e)
	var all []Advice
	add := func(a advice.Advice, ok bool) {
		if brings := a.Bytes.Or(0); ok && brings >= leastAdvice {
			all = append(all, Advice{a, brings >= lacking})
		}
	}
	switch over := e.overMPSLimit(); {
	case v.Cause == LimitSet && over > 0:
		lacking = over
		add(advice.HigherLimit(e.Capacity.Or(0)-e.MPSLimit.Or(0), true), true)
	case v.Cause == LimitSet && e.Withheld.Known():
		lacking = requested
		add(advice.HigherLimit(e.Withheld.Or(0), true), true)
	case v.Cause == LimitSet:
		lacking = e.Reserved.Or(0) + requested - e.Limit.Or(0)
		add(advice.HigherLimit(e.Capacity.Or(0)-e.Limit.Or(0), false), true)
	default:
		for i := range e.Neighbours {
			add(ofNeighbour(&e.Neighbours[i].Process))
		}
	}
	if v.Cause == Leak || v.Cause == OwnGrowth {
		add(ofKeeper(e))
	}
	if len(e.Replayed) > 0 {
		add(advice.Replayed(e.Replayed, "it would have fitted: replayed"))
	} else if f := e.Event.OutOfMemory; f != nil && e.Reserved.Known() && e.Allocated.Known() {
		add(advice.Fragmented(f.Allocator, f.Config, e.Reserved.Or(0)-e.Allocated.Or(0), e.Reserved.Or(0), lacking))
	}
	if tooth := toothOf(e); tooth >= lacking && (v.Cause == OwnGrowth || v.Cause == NeighbourTook) {
		add(advice.Checkpointing(tooth, tooth.String()+" that it takes and frees in a step"), true)
	}
	sorted.Stable(all, func(a, b Advice) int {
		if a.Enough != b.Enough {
			return map[bool]int{true: -1, false: 1}[a.Enough]
		}
		return cmp.Compare(b.Bytes.Or(0), a.Bytes.Or(0))
	})
	return all[:min(len(all), mostAdvice)]
}

func ofNeighbour(p *snapshot.Process) (advice.Advice, bool) {
	who := nameOf(p)
	if a, ok := advice.FlushOf(p, who); ok {
		return a, true
	}
	a, ok := advice.Preallocated(p, "")
	a.Text = who + ": " + a.Text
	return a, ok
}

// toothOf returns how much memory a step takes and frees: the largest fall of allocated memory in the
// last 60 samples. It returns 0 for a process with fewer than leakSteps steps.
func toothOf(e *Evidence) (fall quantity.Bytes) {
	if e.Steps.Or(0) < leakSteps {
		return 0
	}
	var peak quantity.Bytes
	for _, s := range e.Recent[max(len(e.Recent)-60, 0):] {
		if v, ok := s.Allocated.Value(); ok {
			peak = max(peak, v)
			fall = max(fall, peak-v)
		}
	}
	return fall
}
