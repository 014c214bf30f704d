package forecast

import "math"

// regression is least squares over time, in which a sample that is τ old counts 1/e:
// sums of powers of x (time in units of τ) and y (bytes). The origin moves with the
// newest sample, so that no digits are lost to the height of the series.
type regression struct {
	X  [5]float64 // Σ x⁰ … Σ x⁴
	Y  [3]float64 // Σ y, Σ xy, Σ x²y
	YY float64    // Σ y²
}

// observe moves the origin by dx (> 0) and dy to a new sample.
func (r *regression) observe(dx, dy float64) {
	decay := math.Exp(-dx)
	for i := range r.X {
		r.X[i] *= decay
	}
	for i := range r.Y {
		r.Y[i] *= decay
	}
	r.YY *= decay

	r.YY += dy * (dy*r.X[0] - 2*r.Y[0])
	for i := range r.Y {
		r.Y[i] -= dy * r.X[i]
	}

	x, y, d2 := &r.X, &r.Y, dx*dx
	x[4] += dx * (-4*x[3] + dx*(6*x[2]+dx*(-4*x[1]+dx*x[0])))
	x[3] += dx * (-3*x[2] + dx*(3*x[1]-dx*x[0]))
	x[2] += -2*dx*x[1] + d2*x[0]
	x[1] -= dx * x[0]
	y[2] += -2*dx*y[1] + d2*y[0]
	y[1] -= dx * y[0]

	x[0]++
	if r.YY < vanishing {
		r.Y, r.YY = [3]float64{}, 0
	}
}

// vanishing is less than any meaningful sum. The sums of a constant series would
// shrink to denormal numbers, which processors compute with many times as slowly.
const vanishing = 1e-200

// settled is v, or 0 where that is vanishing.
func settled(v float64) float64 {
	if math.Abs(v) < vanishing {
		return 0
	}
	return v
}

// deviation is the standard deviation of the samples within τ.
func (r *regression) deviation() float64 {
	mean := r.Y[0] / r.X[0]
	return math.Sqrt(max(r.YY/r.X[0]-mean*mean, 0))
}

// line is the fitted line now, in bytes above the newest sample and bytes per τ.
type line struct {
	height, slope float64
	explained     float64 // the share of the variance that the line explains

	// slowing: a parabola explains most of what the line does not. bend is its slope
	// now, per τ, and fade the time in τ in which that slope falls to 1/e.
	slowing    bool
	bend, fade float64
}

// line fits a line and a parabola. It is false for too few samples within τ.
func (r *regression) line() (line, bool) {
	x, y := &r.X, &r.Y
	det := x[0]*x[2] - x[1]*x[1]
	if x[0] < 3 || !(det > 1e-9*x[0]*x[2]) {
		return line{}, false
	}
	l := line{
		height: (x[2]*y[0] - x[1]*y[1]) / det,
		slope:  (x[0]*y[1] - x[1]*y[0]) / det,
	}
	total := r.YY - y[0]*y[0]/x[0]
	rest := r.YY - l.height*y[0] - l.slope*y[1]
	if total > 0 {
		l.explained = min(max(1-rest/total, 0), 1)
	}
	r.parabola(&l, rest)
	return l, true
}

// bends is the share of the line's squared errors that a parabola must remove for
// growth to count as slowing. Noise and steps stay far below.
const bends = 0.6

func (r *regression) parabola(l *line, rest float64) {
	x, y := &r.X, &r.Y
	if x[0] < 8 || !(l.slope != 0) || !(rest > 0) {
		return
	}
	// Cofactors of the normal equations' symmetric matrix.
	c00 := x[2]*x[4] - x[3]*x[3]
	c01 := x[2]*x[3] - x[1]*x[4]
	c02 := x[1]*x[3] - x[2]*x[2]
	c11 := x[0]*x[4] - x[2]*x[2]
	c12 := x[1]*x[2] - x[0]*x[3]
	c22 := x[0]*x[2] - x[1]*x[1]
	det := x[0]*c00 + x[1]*c01 + x[2]*c02
	if !(det > 1e-12*x[0]*x[2]*x[4]) {
		return
	}
	height := (c00*y[0] + c01*y[1] + c02*y[2]) / det
	slope := (c01*y[0] + c11*y[1] + c12*y[2]) / det
	curve := (c02*y[0] + c12*y[1] + c22*y[2]) / det
	left := r.YY - height*y[0] - slope*y[1] - curve*y[2]
	if curve*l.slope >= 0 || left > (1-bends)*rest {
		return
	}
	l.slowing = true
	if slope*l.slope > 0 {
		// A slope b that fades as b·exp(−x/fade) changes by −b/fade.
		l.bend, l.fade = slope, -slope/(2*curve)
	}
}

// ahead is the change in x (in τ): straight, or slowing down as the series does now.
func (l *line) ahead(x float64) float64 {
	switch {
	case !l.slowing:
		return l.slope * x
	case l.fade <= 0:
		return 0
	default:
		return l.bend * l.fade * (1 - math.Exp(-x/l.fade))
	}
}
