package forecast

import "math"

// outlook is the forecast at a horizon, relative to the newest sample.
type outlook struct {
	Change float64
	Rise   float64 // Change where it will last, or a peak that fills a GPU sooner
	Spread spread
}

// look makes the forecasts. Each horizon also uses the record of the next shorter one.
func (s *state) look(seconds, change float64) {
	p := s.panel()
	s.follow(p.quick, seconds, change)
	shorter := verdict{}
	for i := range s.Records {
		r, o, h := &s.Records[i], &s.Outlook[i], Horizons[i].Seconds()
		c := s.claim(&p, h)
		r.weigh(&c, &shorter)
		best, change := r.Verdict.choose(&c)
		lasting, rise := best, change
		if best == driftQuick && !s.Course.Sure { // the last seconds alone fill no GPU: the next best may
			slower := c
			slower[driftQuick] = 0
			lasting, rise = r.Verdict.choose(&slower)
			if max(p.short.explained, p.long.explained) < mostly { // but all know a rise that has just begun from the last seconds
				rise = min(rise, 0)
			}
		}
		if lasting == reverting { // what returns to a level does not fill a GPU
			rise = min(rise, 0)
		}
		if s.Now-s.Began < minPast && (s.Last > loads*float64(s.Lows.Lowest) || p.short.explained < onLine) {
			change, rise = 0, 0
		}
		o.Change, o.Rise = max(change, -s.Last), max(rise, -s.Last)
		if p.phase.length > 0 {
			o.Rise = max(o.Rise, p.phase.crest(h, s.Last))
		}
		if age := float64(s.Now-s.Course.Since) / 1e9; s.Course.Announced && h > age/until {
			o.Rise = max(o.Rise, s.Course.rise(h))
			o.Change = o.Rise
		}
		if s.Course.Fades > 0 {
			o.Rise = min(o.Rise, s.Course.rise(h))
		}
		switch {
		case r.Errors.Size >= enoughResiduals || i == 0:
			o.Spread = r.Errors.Spread
			if i > 0 && min(float64(s.Now)/1e9, hour) < enoughResiduals*h { // errors that overlap: few are news
				o.Spread = o.Spread.atLeast(s.Outlook[i-1].Spread)
			}
		case best == reverting:
			o.Spread = s.Outlook[i-1].Spread
		default: // as wide as a random walk gets
			o.Spread = s.Outlook[i-1].Spread.times(float32(math.Sqrt(h / Horizons[i-1].Seconds())))
		}
		r.promise(s.Now, s.Last, h, o.Change, &c)
		shorter = r.Verdict
	}
}

// course is a rise that has just begun, by the quick line. Its own line starts with it, so it has
// a ramp's slope from the first second.
type course struct {
	Since      int64      // the last sample before it, ns
	Top, Usual float64    // the highest level until then, and the usual error, bytes
	Line       regression // since then
	Slope      float32    // bytes per second
	Pace       float32    // the slope of the last seconds
	Fades      float32    // by which share of itself the pace falls in a second; 0: it is straight
	Sure       bool       // it has lasted and still rises
	Announced  bool       // it is straight, leads where the series has not been, and will fill a GPU
}

// follow updates the course by the quick line. After a burst of loading has ended, the series
// lies below that line.
func (s *state) follow(quick line, seconds, change float64) {
	c := &s.Course
	if quick == (line{}) {
		return // too few samples, as after a pause
	}
	if quick.explained < bent || quick.slope < 0 || s.Seasons.swings(s.Now) {
		*c = course{Since: s.Now, Top: s.Top.Height, Usual: max(float64(s.Outlook[0].Spread.Upper80), mebibyte), Line: oneSample}
		return
	}
	c.Line.observe(seconds/longTau, change)
	c.Slope, c.Pace, c.Fades = float32(c.Line.line(longTau).slope), float32(quick.slope), 0
	c.Sure = float64(s.Now-c.Since) >= sure*1e9*s.quickTau() && quick.height < ended*quick.slope*s.quickTau()
	// The course ends if the slope of the last seconds differs by two standard errors.
	// The line's slope is the slope at its middle.
	n, ratio := s.Lines[0].N, float64(c.Slope/c.Pace)
	if c.Sure && quick.explained > mostly && n > 2*quickSamples &&
		ratio > 1+2*math.Sqrt((1-quick.explained)/quick.explained/(n-2)) {
		c.Fades = float32(math.Log(ratio) / min(float64(s.Now-c.Since)/(2*1e9), longTau))
	}
	c.Announced = c.Sure && quick.explained > mostly &&
		s.Last-c.Top > farMiss*c.Usual*math.Sqrt(float64(s.Now-c.Since)/float64(Horizons[0])) && c.Since-s.Began > minPast
}

// rise returns how far the course leads. One that slows continues to slow, as a saturation does.
func (c *course) rise(seconds float64) float64 {
	if c.Fades == 0 {
		return float64(c.Slope) * seconds
	}
	return -float64(c.Pace/c.Fades) * math.Expm1(-float64(c.Fades)*seconds)
}
