package forecast

import "math"

// onsetTau and onsetSamples are how far back the line reaches that shows a new
// course, in seconds and at least in samples.
const (
	changeTau     = 8
	changeSamples = 6
)

// onset is a course that the series has taken up: it has followed a line for
// some moments, away from what was forecast. What was learnt before says
// nothing of it, and nobody knows how long it lasts.
type changepoint struct {
	Line   regression
	Since  int64 // ns
	On     bool
	Up     bool    // it leads above what was forecast
	Before float64 // what was forecast, bytes per second
}

// course is where a new one leads.
type course struct {
	on, up        bool
	age           float64 // seconds
	slope, unsure float64 // and the slope's standard error, bytes per second
}

// tau is the line's, of samples so many seconds apart.
func (*changepoint) tau(step float64) float64 { return max(changeTau, changeSamples*step) }

// watch looks whether a new course has begun, or the present one has ended. It
// begins with a miss far beyond the usual ones, while the newest samples lie on
// a line that leads further away. A step misses as far, but is no line.
func (c *changepoint) watch(now int64, step float64, r *record, horizon float64) course {
	const begins, ends = 0.45, 0.6 // how far samples may scatter, as a share of how far the line leads away within τ
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
		before := r.Said / horizon
		away := slope - before
		c.On = ok && away*r.Missed > 0 && scatter < begins*math.Abs(away)*tau
		c.Up, c.Before = away > 0, before
		c.Since = now - int64(1e9*min(r.Missed/away, horizon))
	}
	return course{on: c.On, up: c.Up, age: float64(now-c.Since) / 1e9, slope: slope, unsure: c.Line.slopeError(scatter) / tau}
}

// misses reports whether an error lies far beyond those that are usual.
func (s *spread) misses(err float64) bool {
	const far = 2.5
	return err > far*s.Upper80+mebibyte || err < far*s.Lower80-mebibyte
}

// reach makes room for the new course in an interval around a change, until
// there are errors of that horizon since. What has lasted for a while may be
// over at once or last for long: with odds of nine to one no more than nine
// times as long, of thirty-nine to one thirty-nine times (Gott 1993). near is
// the interval of the nearest horizon.
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
