package forecast

import "math"

// autoregression is least squares of each change on where it started from, of
// samples of which one that is τ old counts 1/e: the first-order one, whose
// mean and speed of return the series shows itself. Sums are kept as in a
// regression, in bytes above the newest sample.
type autoregression struct{ Weight, From, Change, FromSquared, FromChange float64 }

// observe takes the change dy to a new sample in, dx (in τ) after the last one.
func (a *autoregression) observe(dx, dy float64) {
	a.move(dx, dy)
	a.Weight++
	a.From -= dy // where this change started, seen from where it has ended
	a.Change += dy
	a.FromSquared += dy * dy
	a.FromChange -= dy * dy
}

// move moves the origin by dx and dy to a new sample without learning from the
// change: one over a gap, or to another job, is no step of an approach.
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

// reversion is the approach to a level: how far that lies above the newest
// sample, in bytes, and how fast what is left of the way becomes less, per
// second. Without a speed nothing is approached.
type reversion struct{ level, speed float64 }

// reversion is that of samples which usually lie so many seconds apart. One
// that takes longer than the series remembers is no more than a trend.
func (a *autoregression) reversion(step float64) reversion {
	const fewSamples, slowest, fastest = 10, 1e-4, 0.999 // of the way, from one sample to the next
	spread := a.Weight*a.FromSquared - a.From*a.From
	if a.Weight < fewSamples || !(spread > 1e-9*a.Weight*a.FromSquared) {
		return reversion{}
	}
	share := -(a.Weight*a.FromChange - a.From*a.Change) / spread
	if !(share > slowest) {
		return reversion{}
	}
	return reversion{
		level: (a.Change/share + a.From) / a.Weight,
		speed: -math.Log1p(-min(share, fastest)) / step,
	}
}

// ahead is how much of the way will have been gone by then, in bytes.
func (r reversion) ahead(seconds float64) float64 {
	return r.level * (1 - math.Exp(-r.speed*seconds))
}
