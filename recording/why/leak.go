package why

import (
	"fmt"
	"time"

	"vramscope/internal/quantity"
)

// A leak raises the lowest points of allocated memory by about the same amount again and again, while
// the program trains. Loading a model does so before the first step.
const (
	leakWindows   = 12 // the samples are divided into this many windows
	leakGrowing   = 8  // this many of the last windows must grow
	leakUnsteady  = 4  // a window grows at most by this many times the mean growth, and at least by the mean growth divided by this
	leakSteps     = 20
	leakLongTime  = 10 * time.Minute // the least length of a leak with fewer steps, or without a count of them
	leakLeastPart = 0.2              // the least that a leak takes, as a share of used memory
)

// leakOf looks for a leak of allocated memory that leads up to the event. To find one that began
// late, it also tries the last half, quarter, eighth… of the samples.
func leakOf(e *Evidence) (Verdict, bool) {
	samples := e.Long
	v, found := leakIn(e, samples, e.Steps)
	for !found && len(samples) >= 2*leakWindows {
		samples = samples[len(samples)/2:]
		v, found = leakIn(e, samples, quantity.Optional[int64]{}) // the steps in this part are not known
	}
	return v, found
}

// leakIn looks for a leak in samples, during which the process made the given steps.
func leakIn(e *Evidence, samples []Sample, steps quantity.Optional[int64]) (Verdict, bool) {
	minima, times := minimaOf(samples)
	if len(minima) < leakWindows {
		return Verdict{}, false
	}
	for first := range leakWindows - leakGrowing + 1 {
		rises := leakWindows - 1 - first
		leaked := minima[leakWindows-1] - minima[first]
		mean := leaked / quantity.Bytes(rises)
		steady := mean > 0
		for i := first; i < leakWindows-1; i++ {
			rise := minima[i+1] - minima[i]
			steady = steady && rise >= mean/leakUnsteady && rise <= mean*leakUnsteady
		}
		took := e.Event.Time.Sub(times[first])
		if !steady || float64(leaked) < leakLeastPart*float64(e.Used.Or(0)) || steps.Or(0) < leakSteps && took < leakLongTime {
			continue
		}
		v := Verdict{Cause: Leak, Since: times[first], Leaked: leaked}
		reason := fmt.Sprintf("What it has allocated at the lowest points has grown steadily since %s, from %s to %s",
			times[first].Format(time.TimeOnly), minima[first], minima[leakWindows-1])
		if took > 0 {
			reason += fmt.Sprintf(": %s a minute", quantity.Bytes(float64(leaked)/took.Minutes()))
		}
		if steps, ok := steps.Value(); ok && steps > 0 {
			reason += fmt.Sprintf(", through %d training steps", steps)
		}
		v.Reasons = append(v.Reasons, reason+".")
		if now := e.Allocated.Or(0); e.Requested.Known() && now > minima[leakWindows-1] {
			v.Reasons = append(v.Reasons, fmt.Sprintf("At the error it was %s: the lowest points are without what a step takes and frees, and without the last growth.", now))
		}
		return v, true
	}
	return Verdict{}, false
}

// minimaOf divides samples into leakWindows equal windows of time, and returns the lowest allocated
// memory and the start of each. It returns fewer, or nil, if a window has no known sample.
func minimaOf(samples []Sample) (minima []quantity.Bytes, times []time.Time) {
	first := 0
	for first < len(samples) && !samples[first].Allocated.Known() {
		first++
	}
	samples = samples[first:]
	if len(samples) < leakWindows {
		return nil, nil
	}
	begin := samples[0].Time
	length := samples[len(samples)-1].Time.Sub(begin)/leakWindows + 1
	for _, s := range samples {
		v, known := s.Allocated.Value()
		if !known {
			continue
		}
		window := int(s.Time.Sub(begin) / length)
		switch {
		case window < len(minima):
			minima[window] = min(minima[window], v)
		case window == len(minima):
			minima, times = append(minima, v), append(times, begin.Add(time.Duration(window)*length))
		default:
			return nil, nil
		}
	}
	return minima, times
}
