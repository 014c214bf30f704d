package forecast

import "math"

// The experts. Each says by how much the series will have changed at a
// horizon; the naive forecast, that it stays as it is, is the claim of none.
const (
	dampedHolt = iota
	driftShort // goes on as in the last minute
	driftLong  // goes on as in the last five minutes
	lineLong   // returns to the line of the last five minutes
	meanShort  // returns to the mean of the last minute
	meanLong   // returns to the mean of the last five minutes, or of the last samples
	seasonal   // does as in the last tooth
	experts
)

// The regressions' time constants, in seconds.
const (
	shortTau = 60
	longTau  = 300
)

// meanSamples is over how many samples the long mean is taken where they are
// so rare that five minutes have only a few.
const meanSamples = 20

// claims are the experts' at one horizon, in bytes.
type claims [experts]float64

// panel is the experts with what they know of the series now.
type panel struct {
	holt        *holt
	short, long line
	hasShort    bool
	hasLong     bool
	rhythm      rhythm
	hasRhythm   bool
	mean        float64 // of the last minute, above the newest sample
	meanLong    float64
	last        float64
	age         float64 // seconds since the first sample
}

// foresight is how many times as far as the past is known a drift is drawn
// into the future. What has been seen for a moment has no say in minutes.
const foresight = 4

// claim is what each expert says of a horizon.
func (p *panel) claim(horizon int) claims {
	var c claims
	c[dampedHolt] = p.holt.at(horizon) - p.last
	seconds := min(Horizons[horizon].Seconds(), foresight*p.age)
	if p.hasShort {
		c[driftShort] = p.short.ahead(seconds / shortTau)
		c[meanShort] = p.mean
	}
	if p.hasLong {
		c[driftLong] = p.long.ahead(seconds / longTau)
		c[lineLong] = p.long.height + c[driftLong]
		c[meanLong] = p.meanLong
	}
	if p.hasRhythm {
		c[seasonal] = p.rhythm.claim(Horizons[horizon].Seconds(), p.last)
	}
	for i := range c {
		if math.IsNaN(c[i]) || math.IsInf(c[i], 0) {
			c[i] = 0
		}
	}
	return c
}
