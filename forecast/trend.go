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
	Leak                   // what it never gives back grows, and does not slow down
)

func (t Trend) String() string {
	names := [...]string{"young", "steady", "growing", "shrinking", "sawtooth", "leak"}
	if int(t) >= len(names) {
		return "unknown"
	}
	return names[t]
}

// Trend says what the series does now.
func (f *Forecaster) Trend() Trend {
	trend, _ := f.state.trend()
	return trend
}

// GrowthPerSecond is by how many bytes per second a series grows that is
// Growing, Shrinking (then it is negative) or a Leak; false: it does none of
// these. A leak's is that of what it never gives back.
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

// slope is in bytes per second, and 0 unless a line says most of what the
// series does and makes more of it than 1 % within tau seconds.
func slope(r *regression, tau, level float64) float64 {
	l, ok := r.line()
	if !ok || l.explained < 0.85 || math.Abs(l.slope) < max(notable*level, least) {
		return 0
	}
	if l.slowing && math.Abs(l.ahead(1)) < max(notable*level, least) {
		return 0 // it has come to rest
	}
	return l.slope / tau
}

// notable is the share of the level from which a change is one; below least
// bytes nothing is.
const (
	notable = 0.01
	least   = 16 * mebibyte
)
