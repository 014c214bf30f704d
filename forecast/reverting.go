package forecast

import "math"

// autoregression is least squares of each change on its starting value, in bytes above
// the newest sample. A sample that is τ old counts 1/e.
type autoregression struct{ Weight, From, Change, FromSquared, FromChange float64 }

// observe takes the change dy to a new sample, dx (in τ) after the last one.
func (a *autoregression) observe(dx, dy float64) {
	a.move(dx, dy)
	a.Weight++
	a.From -= dy // the start of this change, relative to its end
	a.Change += dy
	a.FromSquared += dy * dy
	a.FromChange -= dy * dy
}

// move moves the origin without learning: over a gap, or to another job.
func (a *autoregression) move(dx, dy float64) {
	decay := math.Exp(-dx)
	a.Weight *= decay
	a.From *= decay
	a.Change *= decay
	a.FromSquared *= decay
	a.FromChange *= decay

	a.FromSquared += dy * (dy*a.Weight - 2*a.From)
	a.FromChange -= dy * a.Change
	a.From -= dy * a.Weight

	if a.FromSquared < vanishing {
		a.From, a.Change, a.FromSquared, a.FromChange = 0, 0, 0, 0
	}
}

// reversion is the approach to a level, in bytes above the newest sample, by a share
// of the rest of the way per second. Without a speed nothing is approached.
type reversion struct{ level, speed float64 }

// reversion is the approach, for samples that usually are so many seconds apart. One
// that takes longer than the series remembers is a trend, and no reversion.
func (a *autoregression) reversion(step float64) reversion {
	const fewSamples, slowest, fastest = 10, 1e-4, 0.999 // of the way, from one sample to the next
	const farthest = 10                                  // standard deviations from where the series has been
	spread := a.Weight*a.FromSquared - a.From*a.From
	if a.Weight < fewSamples || !(spread > 1e-9*a.Weight*a.FromSquared) {
		return reversion{}
	}
	share := -(a.Weight*a.FromChange - a.From*a.Change) / spread
	if !(share > slowest) {
		return reversion{}
	}
	level := a.Change / share / a.Weight // above the mean of the starts
	if level*level*a.Weight*a.Weight > farthest*farthest*spread {
		return reversion{}
	}
	return reversion{
		level: level + a.From/a.Weight,
		speed: -math.Log1p(-min(share, fastest)) / step,
	}
}

// ahead is how far the series will have approached by then, in bytes.
func (r reversion) ahead(seconds float64) float64 {
	return r.level * (1 - math.Exp(-r.speed*seconds))
}
