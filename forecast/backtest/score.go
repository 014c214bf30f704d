package backtest

import (
	"math"
	"time"

	"vramscope/forecast"
)

// tolerance is the difference, in bytes, up to which two amounts count as equal.
const tolerance = 1 << 20

// Score holds the scores of one series' forecasts, as sums for Summarise.
type Score struct {
	ID      string
	Samples int
	Seconds float64
	At      [len(forecast.Horizons)]Accuracy
	Filling Filling
	Leak    Leak
	Cost    time.Duration // 0: not measured
}

// Accuracy holds the sums over the forecasts at one horizon, in bytes.
type Accuracy struct {
	Scored      int
	Loss, Naive float64 // absolute errors
	In80, In95  Bounds
}

// Bounds scores one interval.
type Bounds struct {
	Within         int
	Width, Winkler float64 // sums, bytes
}

func (a *Accuracy) add(in forecast.Interval, was, came int64) {
	a.Scored++
	a.Loss += math.Abs(float64(came) - float64(in.Median))
	a.Naive += math.Abs(float64(came) - float64(was))
	a.In80.add(in.Lower80, in.Upper80, came, 0.20)
	a.In95.add(in.Lower95, in.Upper95, came, 0.05)
}

func (b *Bounds) add(lower, upper, came int64, alpha float64) {
	width := float64(upper) - float64(lower)
	outside := outside(lower, upper, came)
	b.Width += width
	b.Winkler += width
	if outside <= tolerance {
		b.Within++
	} else {
		b.Winkler += 2 / alpha * outside
	}
}

func outside(lower, upper, came int64) float64 {
	return max(float64(lower)-float64(came), float64(came)-float64(upper), 0)
}

// relative returns the mean error divided by the naive forecast's, each with tolerance added.
func (a *Accuracy) relative() float64 {
	n := float64(a.Scored)
	return (a.Loss/n + tolerance) / (a.Naive/n + tolerance)
}

// Leak counts how often and when a leak was reported.
type Leak struct {
	Flags   int     // how often a leak was raised
	Samples int     // at how many samples a leak stood
	First   float64 // when a leak was first raised, in t_seconds; meaningless while Flags is 0
	stands  bool
}

func (l *Leak) observe(s *Sample, trend forecast.Trend) {
	leaks := trend == forecast.Leak
	if leaks {
		l.Samples++
		if !l.stands {
			if l.Flags == 0 {
				l.First = s.Seconds
			}
			l.Flags++
		}
	}
	l.stands = leaks
}
