package forecast

import "math"

// regression is least squares over time, in which a sample of age τ has the weight 1/e: sums of
// powers of x (time in units of τ) and y (bytes). The origin moves with the newest sample, so
// that a series far above zero loses no digits.
type regression struct {
	N, X, XX, Y, XY, YY float64 // Σ 1, Σ x, Σ x², Σ y, Σ xy, Σ y²
}

// oneSample is the regression of a single sample.
var oneSample = regression{N: 1}

// observe moves the origin by dx (> 0) and dy to a new sample.
func (r *regression) observe(dx, dy float64) {
	keep := math.Exp(-dx)
	r.YY = keep * (r.YY + dy*(dy*r.N-2*r.Y))
	r.Y, r.XY = keep*(r.Y-dy*r.N), keep*(r.XY-dy*r.X)
	r.N, r.X, r.XX = keep*r.N, keep*r.X, keep*r.XX
	r.XY -= dx * r.Y
	r.XX += dx * (dx*r.N - 2*r.X)
	r.X -= dx * r.N
	r.N++
	if r.YY < 1 { // less than a byte: smaller sums would shrink to denormal numbers, which are slow
		r.Y, r.XY, r.YY = 0, 0, 0
	}
}

// line is the fitted line now, in bytes above the newest sample and bytes per second.
type line struct {
	height, slope float64
	explained     float64 // the share of the variance that the line explains
	variance      float64 // the variance that the line does not explain, bytes squared
}

// line fits a line. It is zero for too few samples within tau seconds.
func (r *regression) line(tau float64) line {
	det := r.N*r.XX - r.X*r.X
	if r.N < 2 || !(det > singular*r.N*r.XX) {
		return line{}
	}
	l := line{height: (r.XX*r.Y - r.X*r.XY) / det, slope: (r.N*r.XY - r.X*r.Y) / det}
	if total := r.YY - r.Y*r.Y/r.N; total > 0 {
		l.variance = max(r.YY-l.height*r.Y-l.slope*r.XY, 0) / r.N
		l.explained = 1 - l.variance*r.N/total
	}
	l.slope /= tau
	return l
}

// autoregression is least squares of each change on its starting value, in bytes above the newest
// sample. A sample of age τ has the weight 1/e.
type autoregression struct{ Weight, From, Change, FromSquared, FromChange float64 }

// observe takes the change dy to a new sample, dx (in τ) after the last one. Changes over a gap,
// or to another job, are not counted.
func (a *autoregression) observe(dx, dy float64, counts bool) {
	keep := math.Exp(-dx)
	a.FromSquared = keep * (a.FromSquared + dy*(dy*a.Weight-2*a.From))
	a.FromChange = keep * (a.FromChange - dy*a.Change)
	a.From, a.Change, a.Weight = keep*(a.From-dy*a.Weight), keep*a.Change, keep*a.Weight
	if a.FromSquared < 1 {
		*a = autoregression{Weight: a.Weight}
	}
	if counts {
		a.Weight++
		a.From -= dy // the start of this change, relative to its end
		a.Change += dy
		a.FromSquared += dy * dy
		a.FromChange -= dy * dy
	}
}

// reversion returns the level that the series approaches, in bytes above the newest sample, and the
// share of the remaining way that it covers per second. step is the usual time between samples, in
// seconds. An approach that takes longer than the series remembers is a trend, not a reversion.
func (a *autoregression) reversion(step float64) (level, speed float64) {
	spread := a.Weight*a.FromSquared - a.From*a.From
	share := -(a.Weight*a.FromChange - a.From*a.Change) / spread
	level = a.Change / share // above the mean of the starts, times the weight
	if a.Weight < MinSamples || !(spread > singular*a.Weight*a.FromSquared) || share <= singular {
		return 0, 0
	}
	return (level + a.From) / a.Weight, -math.Log1p(-min(share, 1-singular)) / step
}
