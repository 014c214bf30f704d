package forecast

import "math"

// outlook is the forecast at a horizon, relative to the newest sample.
type outlook struct {
	Change float64
	Rise   float64 // the growth that may fill a GPU: a change that lasts, or a coming peak
	Spread spread
}

// look makes the forecasts. Each horizon also uses the record of the next shorter one.
func (s *state) look(seconds, change float64) {
	p := s.panel()
	s.follow(p.quick, p.short, seconds, change)
	v := verdict{}
	for i := range s.Records {
		r, o, h := &s.Records[i], &s.Outlook[i], Horizons[i].Seconds()
		c := s.claim(&p, h)
		r.weigh(&c, &v)
		best, change := v.choose(&c)
		rise := change
		if best == driftQuick && !s.Course.Sure { // the last seconds alone predict no full GPU: the next best expert may
			slower := c
			slower[driftQuick] = 0
			_, rise = v.choose(&slower)
			if max(p.short.explained, p.long.explained) < mostly { // the other experts, too, know a new rise only from the last seconds
				rise = min(rise, 0)
			}
		}
		if s.Now-s.Began < minPast && p.short.explained < onLine {
			change, rise = 0, 0
		}
		o.Change, o.Rise = max(change, -s.Last), max(rise, -s.Last)
		if p.phase.length > 0 {
			o.Rise = max(o.Rise, p.phase.crest(h, s.Last))
		}
		if s.Course.leads(h, s.Now, false) {
			o.Rise = max(o.Rise, s.Course.rise(h))
			o.Change = o.Rise
		}
		if s.Course.Fades > 0 && !s.Course.Rough {
			o.Rise = min(o.Rise, s.Course.rise(h))
		}
		switch {
		case r.Errors.Size >= enoughResiduals || i == 0:
			o.Spread = r.Errors.Spread
			if i > 0 && min(float64(s.Now)/1e9, hour) < enoughResiduals*h { // the errors overlap: few are independent
				o.Spread = o.Spread.atLeast(s.Outlook[i-1].Spread)
			}
		case best == reverting:
			o.Spread = s.Outlook[i-1].Spread
		default: // as wide as a random walk gets
			o.Spread = s.Outlook[i-1].Spread.times(float32(math.Sqrt(h / Horizons[i-1].Seconds())))
		}
		r.promise(&s.Pending[i], s.Now, s.Last, h, o.Change, &c)
	}
}

// course is a rise that has just begun, by the quick line. Its own line starts with the course. A
// course that begins out of a sawtooth lasts through the falls that stay above the level before it.
type course struct {
	Since      int64      // when the last sample before the course was, ns
	Top, Usual float64    // the highest level until then, and the usual error, bytes
	Line       regression // samples since then
	Slope      float32    // bytes per second
	Pace       float32    // the slope of the last seconds
	Fades      float32    // by which share of itself the pace falls in a second; 0: it is straight
	Rough      bool       // the course began out of a sawtooth, even or not
	Sure       bool       // the course has lasted and still rises
	Announced  bool       // the course is straight, leads where the series has not been, and will fill a GPU
	Lifted     bool       // the course's own line is straight, though the sawtooth continues
}

// follow updates the course by the quick line. Where that line is rough, another course begins. A
// course is not sure while the series lies below its own line by two standard deviations.
func (s *state) follow(quick, short line, seconds, change float64) {
	c := &s.Course
	if quick == (line{}) {
		return // too few samples, as after a pause
	}
	c.Line.observe(seconds/longTau, change)
	own, age, lasts, sinceTop := c.Line.line(longTau), float64(s.Now-c.Since)/1e9, sure*s.quickTau(), float64(s.Now-s.Top.At)/1e9
	rough := quick.explained < bent || quick.slope < 0 || s.Seasons.swings(s.Now)
	if rough && (!c.Rough || s.Last <= c.Top || sinceTop > shortTau) {
		*c = course{Since: s.Now, Top: s.Top.Height, Usual: max(float64(s.Outlook[0].Spread.Upper80), mebibyte), Line: oneSample, Rough: s.Seasons.Size > 2 && s.Seasons.fell()}
		return
	}
	n, pace := s.Lines[0].N, quick
	if rough {
		n, pace = s.Lines[1].N, short
	}
	c.Slope, c.Pace, c.Fades = float32(own.slope), float32(pace.slope), 0
	c.Sure = !rough && age >= lasts && own.height < max(2*math.Sqrt(own.variance), mebibyte)
	// The course fades if the slope of the last seconds, or of a sawtooth's last minute, is lower than
	// the course's by two standard errors. The slope of the course's line is that at the line's middle.
	if ratio := float64(c.Slope / c.Pace); (c.Sure || rough) && pace.explained > mostly && n > 2*quickSamples &&
		ratio > 1+2*math.Sqrt((1-pace.explained)/pace.explained/(n-2)) {
		c.Fades = float32(math.Log(ratio) / min(age/2, longTau))
	}
	old := c.Since-s.Began > minPast
	c.Announced = old && c.Sure && quick.explained > mostly && s.Last-c.Top > farMiss*c.Usual*math.Sqrt(age/Horizons[0].Seconds())
	c.Lifted = old && c.Rough && age >= lasts && own.explained > mostly && (s.Last+own.height <= s.Top.Height || sinceTop < lasts)
}

// leads reports whether the course may determine the growth at a horizon.
func (c *course) leads(seconds float64, now int64, lifted bool) bool {
	return (c.Announced || lifted && c.Lifted) && seconds > float64(now-c.Since)/1e9/until
}

// rise returns the growth by the course. A course that slows continues to slow, as a saturation does.
func (c *course) rise(seconds float64) float64 {
	if c.Fades == 0 {
		return float64(c.Slope) * seconds
	}
	return -float64(c.Pace/c.Fades) * math.Expm1(-float64(c.Fades)*seconds)
}
