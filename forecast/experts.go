package forecast

import "math"

// The experts. Each claims a change at a horizon; the naive forecast claims none.
const (
	dampedHolt = iota
	driftShort // continues as in the last minute
	driftLong  // continues as in the last five minutes
	lineLong   // returns to the line of the last five minutes
	meanLong   // returns to the mean of the last half hour
	medianLong // returns to the median of the last ten minutes
	reverting  // approaches a level as fast as the series has done so
	seasonal   // repeats the last cycle of a sawtooth
	experts
)

// follows reports whether an expert follows a trend.
func follows(expert int) bool { return expert <= lineLong }

// returns reports whether an expert returns to a level.
func returns(expert int) bool { return resting(expert) || expert == reverting }

// resting reports whether an expert returns to a level at once.
func resting(expert int) bool { return expert == meanLong || expert == medianLong }

// The time constants of the regressions and the mean, and the span of the median,
// in seconds; mean and median cover at least so many samples, however rare.
const (
	shortTau      = 60
	longTau       = 300
	meanTau       = 1800
	meanSamples   = 100
	medianSpan    = 600
	medianSamples = 20
)

// claims are the experts' claims at one horizon, in bytes.
type claims [experts]float64

// panel is what the experts know of the series now.
type panel struct {
	holt        *holt
	short, long line // zero for too few samples
	phase       seasonalPhase
	hasPhase    bool
	mean        float64 // above the newest sample
	median      float64
	reversion   reversion
	last        float64
	age         float64 // seconds since the first sample
}

// foresight limits how far a drift is extended, in ages of the series.
const foresight = 4

// claim is what each expert claims at a horizon.
func (p *panel) claim(horizon int) claims {
	var c claims
	c[dampedHolt] = p.holt.at(horizon) - p.last
	seconds := min(Horizons[horizon].Seconds(), foresight*p.age)
	c[driftShort] = p.short.ahead(seconds / shortTau)
	c[driftLong] = p.long.ahead(seconds / longTau)
	c[lineLong] = p.long.height + c[driftLong]
	c[meanLong], c[medianLong] = p.mean, p.median
	c[reverting] = p.reversion.ahead(Horizons[horizon].Seconds())
	if p.hasPhase {
		c[seasonal] = p.phase.claim(Horizons[horizon].Seconds(), p.last)
	}
	for i := range c {
		if math.IsNaN(c[i]) || math.IsInf(c[i], 0) {
			c[i] = 0
		}
	}
	return c
}
