package forecast

import "math"

// regression is least squares over time, in which a sample that is τ old counts 1/e:
// sums of powers of x (time in units of τ) and y (bytes). The origin moves with the
// newest sample, so that no digits are lost to the height of the series.
type regression struct {
	X  [3]float64 // Σ x⁰ … Σ x²
	Y  [2]float64 // Σ y, Σ xy
	YY float64    // Σ y²
}

// oneSample is the regression of a single sample.
var oneSample = regression{X: [3]float64{1}}

// observe moves the origin by dx (> 0) and dy to a new sample.
func (r *regression) observe(dx, dy float64) {
	keep := math.Exp(-dx)
	x, y := &r.X, &r.Y
	r.YY = keep * (r.YY + dy*(dy*x[0]-2*y[0]))
	y[0], y[1] = keep*(y[0]-dy*x[0]), keep*(y[1]-dy*x[1])
	x[0], x[1], x[2] = keep*x[0], keep*x[1], keep*x[2]
	y[1] -= dx * y[0]
	x[2] += dx * (dx*x[0] - 2*x[1])
	x[1] -= dx * x[0]
	x[0]++
	if r.YY < vanishing {
		r.Y, r.YY = [2]float64{}, 0
	}
}

// line is the fitted line now, in bytes above the newest sample and bytes per second.
type line struct {
	height, slope float64
	explained     float64 // the share of the variance that the line explains
}

// line fits a line. It is zero for too few samples within tau seconds.
func (r *regression) line(tau float64) line {
	x, y := &r.X, &r.Y
	det := x[0]*x[2] - x[1]*x[1]
	if x[0] < 2 || !(det > 1e-9*x[0]*x[2]) {
		return line{}
	}
	l := line{height: (x[2]*y[0] - x[1]*y[1]) / det, slope: (x[0]*y[1] - x[1]*y[0]) / det}
	if total := r.YY - y[0]*y[0]/x[0]; total > 0 {
		l.explained = 1 - max(r.YY-l.height*y[0]-l.slope*y[1], 0)/total
	}
	l.slope /= tau
	return l
}

// autoregression is least squares of each change on its starting value, in bytes above
// the newest sample. A sample that is τ old counts 1/e.
type autoregression struct{ Weight, From, Change, FromSquared, FromChange float64 }

// observe takes the change dy to a new sample, dx (in τ) after the last one. It is not
// counted over a gap, or to another job.
func (a *autoregression) observe(dx, dy float64, counts bool) {
	keep := math.Exp(-dx)
	a.FromSquared = keep * (a.FromSquared + dy*(dy*a.Weight-2*a.From))
	a.FromChange = keep * (a.FromChange - dy*a.Change)
	a.From, a.Change, a.Weight = keep*(a.From-dy*a.Weight), keep*a.Change, keep*a.Weight
	if a.FromSquared < vanishing {
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

// reversion is the approach to a level, in bytes above the newest sample, by a share
// of the rest of the way per second.
type reversion struct{ level, speed float64 }

// reversion is the approach, for samples that usually are so many seconds apart. One
// that takes longer than the series remembers is a trend, and no reversion.
func (a *autoregression) reversion(step float64) reversion {
	spread := a.Weight*a.FromSquared - a.From*a.From
	share := -(a.Weight*a.FromChange - a.From*a.Change) / spread
	level := a.Change / share // above the mean of the starts, times the weight
	if a.Weight < MinSamples || !(spread > 1e-9*a.Weight*a.FromSquared) || share <= slowest {
		return reversion{}
	}
	return reversion{level: (level + a.From) / a.Weight, speed: -math.Log1p(-min(share, 1-slowest)) / step}
}

// ahead is how far the series will have approached by then, in bytes.
func (r reversion) ahead(seconds float64) float64 { return r.level * (1 - math.Exp(-r.speed*seconds)) }
