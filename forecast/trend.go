package forecast

import (
	"cmp"
	"math"
)

// Trend is the behaviour of a series.
type Trend uint8

// The trends.
const (
	Young     Trend = iota // too few samples to say
	Steady                 // none of the others
	Growing                // goes up, but not (or not yet) as a leak does
	Shrinking              // goes down
	Sawtooth               // goes up and down again and again
	Leak                   // memory that the series never frees grows without slowing down
)

// Trend returns the present behaviour of the series.
func (f *Forecaster) Trend() Trend {
	trend, _ := f.state.trend()
	return trend
}

// GrowthPerSecond returns the growth of a series that is Growing, Shrinking (negative) or a Leak
// (then the growth of memory that is never freed), and false otherwise.
func (f *Forecaster) GrowthPerSecond() (bytes float64, ok bool) {
	_, rate := f.state.trend()
	return rate, rate != 0
}

func (s *state) trend() (Trend, float64) {
	switch {
	case s.Count < MinSamples:
		return Young, 0
	case s.Lows.Rate > 0:
		return Leak, s.Lows.Rate
	case s.Seasons.swings(s.Now):
		return Sawtooth, 0
	}
	rate := cmp.Or(s.Lines[1].line(shortTau).growth(shortTau, s.Last), s.Lines[2].line(longTau).growth(longTau, s.Last))
	return [...]Trend{Shrinking, Steady, Growing}[1+cmp.Compare(rate, 0)], rate
}

// growth returns bytes per second: 0 unless the line explains most of the series
// and changes by a notable share of it within tau seconds.
func (l line) growth(tau, level float64) float64 {
	if l.explained < mostly || math.Abs(l.slope*tau) < max(notable*level, minChange) {
		return 0
	}
	return l.slope
}
