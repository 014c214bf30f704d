package forecast

import "math"

// Trend is what a series does.
type Trend uint8

// The trends.
const (
	Young     Trend = iota // too few samples to say
	Steady                 // none of the others
	Growing                // goes up, but not (or not yet) as a leak does
	Shrinking              // goes down
	Sawtooth               // goes up and down again and again
	Leak                   // what it never frees grows, and does not slow down
)

func (t Trend) String() string {
	names := [...]string{"young", "steady", "growing", "shrinking", "sawtooth", "leak"}
	if int(t) >= len(names) {
		return "unknown"
	}
	return names[t]
}

// Trend is what the series does now.
func (f *Forecaster) Trend() Trend {
	trend, _ := f.state.trend()
	return trend
}

// GrowthPerSecond is the growth of a series that is Growing, Shrinking (negative) or a
// Leak (of what is never freed), and false otherwise.
func (f *Forecaster) GrowthPerSecond() (bytes float64, ok bool) {
	switch trend, rate := f.state.trend(); trend {
	case Growing, Shrinking, Leak:
		return rate, true
	default:
		return 0, false
	}
}

func (s *state) trend() (Trend, float64) {
	switch {
	case s.Count < MinSamples:
		return Young, 0
	case s.Minima.Leaking:
		return Leak, s.Minima.LeakRate
	case s.Sawtooth.recur(s.Now, s.Step):
		return Sawtooth, 0
	}
	rate := slope(&s.Short, shortTau, s.Last)
	if rate == 0 {
		rate = slope(&s.Long, longTau, s.Last)
	}
	switch {
	case rate > 0:
		return Growing, rate
	case rate < 0:
		return Shrinking, rate
	default:
		return Steady, 0
	}
}

// slope is in bytes per second. It is 0 unless a line explains most of the series
// and changes by more than 1 % of it within tau seconds.
func slope(r *regression, tau, level float64) float64 {
	l, ok := r.line()
	if !ok || l.explained < 0.85 || math.Abs(l.slope) < max(notable*level, least) {
		return 0
	}
	if l.slowing && math.Abs(l.ahead(1)) < max(notable*level, least) {
		return 0 // it has levelled off
	}
	return l.slope / tau
}

// notable is the share of the level from which a change of at least least bytes counts.
const (
	notable = 0.01
	least   = 16 * mebibyte
)
