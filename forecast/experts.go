package forecast

import "math"

// The experts. Each claims a change at a horizon; the naive forecast claims none.
const (
	driftQuick = iota // continues as in the last seconds
	driftShort        // continues as in the last minute
	lineLong          // returns to the line of the last five minutes
	medianLong        // returns to the median of the last ten minutes
	reverting         // approaches a level as fast as the series has done so
	seasonal          // repeats the last cycle of a sawtooth
	experts
)

// follows reports whether an expert follows a trend.
func follows(expert int) bool { return expert <= lineLong }

// returns reports whether an expert returns to a level.
func returns(expert int) bool { return resting(expert) || expert == reverting }

// resting reports whether an expert returns to a level at once.
func resting(expert int) bool { return expert == medianLong }

// The time constants of the regressions, that of the autoregression (meanTau) and the
// span of the median, in seconds; they cover at least so many samples, however rare.
// The quick one sees growth within half a minute; with less it follows noise.
const (
	quickSeconds  = 8
	quickSamples  = 3
	shortTau      = 60
	longTau       = 300
	meanTau       = 1800
	meanSamples   = 100
	medianSpan    = 600
	medianSamples = 20
)

// quickTau is the quick drift's time constant, for samples so many seconds apart.
func quickTau(step float64) float64 { return max(quickSeconds, quickSamples*step) }

// claims are the experts' claims at one horizon, in bytes.
type claims [experts]float64

// panel is what the experts know of the series now.
type panel struct {
	quick       float64 // bytes per second
	short, long line    // zero for too few samples
	phase       seasonalPhase
	hasPhase    bool
	median      float64
	reversion   reversion
	last        float64
	age         float64 // seconds since the job began
}

// foresight limits how far a drift is extended, in ages of the job: young claims of a
// quarter of an hour are wild.
const foresight = 4

// claim is what each expert claims at a horizon.
func (p *panel) claim(horizon int) claims {
	var c claims
	seconds := min(Horizons[horizon].Seconds(), foresight*p.age)
	c[driftQuick] = p.quick * seconds
	c[driftShort] = p.short.ahead(seconds / shortTau)
	c[lineLong] = p.long.height + p.long.ahead(seconds/longTau)
	c[medianLong] = p.median
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
