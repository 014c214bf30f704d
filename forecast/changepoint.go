package forecast

import "math"

const (
	// farMiss is how far beyond the usual 80 % bound an error lies that no noise makes:
	// three standard deviations.
	farMiss = 2.5

	// offLine is the share of its rise that the samples of a line may lie off it.
	offLine = 0.2

	// fewOnLine is how many samples beyond the first show that they lie on a line.
	fewOnLine = 3
)

// changepoint is the line on which the series has been since a forecast missed by far
// more than usual: least squares over the samples since, none discounted. It starts
// anew where a sample lies off it, so that a step is no line.
type changepoint struct {
	Since  int64   // the last sample before the miss, ns; 0: there was no miss
	Origin float64 // its height, bytes
	N      float64
	T, TT  float64 // Σ t, Σ t², seconds since the origin
	Y, TY  float64 // Σ y, Σ ty, bytes above it
	YY     float64
	Usual  float64 // the usual error when it began, bytes
	Before float64 // the slope that was forecast then, bytes per second
	Top    float64 // the highest level until then, bytes
}

// course is the new course, as a line.
type course struct {
	on, up        bool
	age           float64 // seconds
	slope, unsure float64 // and the slope's standard error, bytes per second
	clear         bool    // above all that was there before
}

// observe takes the next sample, the one before it, and what came of the nearest
// horizon's forecast.
func (c *changepoint) observe(now, before int64, y, last float64, r *record, horizon float64, past *seasons) course {
	if c.Since > 0 {
		if c.add(now, y) {
			return c.course(now, y)
		}
		if c.N < 1 {
			return course{}
		}
		c.begin(before, last, c.Usual, c.Before, c.Top)
		c.add(now, y)
		return course{}
	}
	usual := max(r.Errors.Spread.Upper80, -r.Errors.Spread.Lower80) + mebibyte
	if r.Scored != now || r.Errors.Size < enoughResiduals || math.Abs(r.Missed) < farMiss*usual {
		return course{}
	}
	c.begin(before, last, usual, r.Published/horizon, past.highest(before))
	c.add(now, y)
	return course{}
}

func (c *changepoint) begin(at int64, y, usual, before, top float64) {
	*c = changepoint{Since: at, Origin: y, N: 1, Usual: usual, Before: before, Top: top}
}

// fit is the line's height at the origin, its slope, and the scatter around it.
func (c *changepoint) fit() (height, slope, scatter float64) {
	det := c.N*c.TT - c.T*c.T
	if !(det > 0) {
		return 0, 0, 0
	}
	slope = (c.N*c.TY - c.T*c.Y) / det
	height = (c.Y - slope*c.T) / c.N
	return height, slope, math.Sqrt(max(c.YY-height*c.Y-slope*c.TY, 0) / c.N)
}

// add adds a sample. It is false, and the line has ended, where the sample lies off it.
func (c *changepoint) add(now int64, y float64) bool {
	t, y := float64(now-c.Since)/1e9, y-c.Origin
	if c.N >= fewOnLine {
		height, slope, _ := c.fit()
		if math.Abs(y-height-slope*t) > max(farMiss*c.Usual, offLine*math.Abs(slope)*t) {
			return false
		}
	}
	c.N++
	c.T, c.TT, c.Y, c.TY, c.YY = c.T+t, c.TT+t*t, c.Y+y, c.TY+t*y, c.YY+y*y
	return true
}

func (c *changepoint) course(now int64, y float64) course {
	age := float64(now-c.Since) / 1e9
	_, slope, scatter := c.fit()
	away := slope - c.Before
	if c.N <= fewOnLine {
		return course{}
	}
	if math.Abs(away)*age < farMiss*c.Usual || scatter > offLine*math.Abs(away)*age {
		if c.N > 2*fewOnLine { // it leads nowhere
			*c = changepoint{}
		}
		return course{}
	}
	return course{
		on: true, up: away > 0, age: age, slope: slope, clear: y > c.Top+c.Usual,
		unsure: scatter * math.Sqrt(c.N/(c.N*c.TT-c.T*c.T)),
	}
}

// announces reports whether the course is one that will fill a GPU: a burst of
// loading ends before.
func (c *course) announces() bool {
	const sureAfter = 18 // seconds
	return c.on && c.up && c.clear && c.age >= sureAfter
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
