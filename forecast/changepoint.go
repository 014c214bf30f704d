package forecast

import "math"

// The line that shows a new course reaches back so many seconds, at least so many samples.
const (
	changeTau     = 8
	changeSamples = 6
)

// changepoint is the start of a new course: a line away from what was forecast.
type changepoint struct {
	Line   regression
	Since  int64 // ns
	On     bool
	Up     bool    // it leads above what was forecast
	Before float64 // the forecast slope, bytes per second
}

// course is the new course, as a line.
type course struct {
	on, up        bool
	age           float64 // seconds
	slope, unsure float64 // and the slope's standard error, bytes per second
}

// tau is the line's time constant, for samples so many seconds apart.
func (*changepoint) tau(step float64) float64 { return max(changeTau, changeSamples*step) }

// watch decides whether a new course has begun, or the present one has ended. It
// begins with an error far beyond the usual ones while the newest samples lie on a
// line that leads further away. A step misses as far, but is no line.
func (c *changepoint) watch(now int64, step float64, r *record, horizon float64) course {
	const begins, ends = 0.45, 0.6 // the scatter of samples, as a share of how far the line leads away within τ
	missed := r.Scored == now && r.Errors.Size >= enoughResiduals && r.Errors.Spread.misses(r.Missed)
	if !c.On && !missed {
		return course{}
	}
	l, ok := c.Line.line()
	tau := c.tau(step)
	slope, scatter := l.slope/tau, c.Line.scatter(&l)
	if c.On {
		away := slope - c.Before
		c.On = ok && (away > 0) == c.Up && scatter <= ends*math.Abs(away)*tau
	} else {
		before := r.Published / horizon
		away := slope - before
		c.On = ok && away*r.Missed > 0 && scatter < begins*math.Abs(away)*tau
		c.Up, c.Before = away > 0, before
		c.Since = now - int64(1e9*min(r.Missed/away, horizon))
	}
	return course{on: c.On, up: c.Up, age: float64(now-c.Since) / 1e9, slope: slope, unsure: c.Line.slopeError(scatter) / tau}
}

// misses reports whether an error lies far beyond the usual ones.
func (s *spread) misses(err float64) bool {
	const far = 2.5
	return err > far*s.Upper80+mebibyte || err < far*s.Lower80-mebibyte
}

// reach widens an interval around a change by the new course, until the horizon has
// errors made since. A course lasts at most k times as long as it has lasted already
// with odds of k to one (Gott 1993). near is the interval of the nearest horizon.
func (c *course) reach(s, near spread, change, horizon float64) spread {
	const until = 2.5 // horizons
	if !c.on || c.age > until*horizon {
		return s
	}
	to80, to95 := min(horizon, 9*c.age), min(horizon, 39*c.age)
	if c.up {
		s.Upper80 = max(s.Upper80, (c.slope+z80*c.unsure)*to80+near.Upper80-change)
		s.Upper95 = max(s.Upper95, (c.slope+z95*c.unsure)*to95+near.Upper95-change)
	} else {
		s.Lower80 = min(s.Lower80, (c.slope-z80*c.unsure)*to80+near.Lower80-change)
		s.Lower95 = min(s.Lower95, (c.slope-z95*c.unsure)*to95+near.Lower95-change)
	}
	return s
}
