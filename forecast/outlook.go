package forecast

import (
	"math"
	"time"
)

// outlook is the forecast at a horizon, relative to the newest sample.
type outlook struct {
	Change float64
	Crest  float64    // how far peaks of a sawtooth rise above it
	Least  [2]float64 // the least change forecast in this period and the one before
	Spread spread
}

// period is how long a rise must have been forecast before it is sure: a single step
// leaves a slope behind for less.
const period = 15 * time.Second

// sure is the change where a rise has been forecast for a while.
func (o *outlook) sure() float64 {
	const much = 3
	if o.Change > much*max(min(o.Least[0], o.Least[1]), 0) {
		return min(o.Change, 0)
	}
	return o.Change
}

// unscored is how many first samples make forecasts whose errors are not kept.
const unscored = 5

// look makes the forecasts. Each horizon lends its experience to the next longer one.
func (s *state) look(seconds float64, heading course) {
	p := s.panel()
	if s.Without&PartChangepoint != 0 {
		heading = course{}
	}
	s.Crest = settled(max(s.Crest*math.Exp(-seconds/longTau), -p.long.height, 0))
	swings := s.Sawtooth.recur(s.Now, s.Step)
	weighed := weights{verdict: naiveVerdict()}
	var shorter spread
	nearest := s.nearest()
	begins := s.Now >= s.PeriodEnds
	if begins {
		s.PeriodEnds = s.Now + int64(period)
	}
	s.Course = 0
	if heading.announces() && !swings {
		s.Course = heading.slope
	}
	for i := range s.Records {
		r, h := &s.Records[i], Horizons[i].Seconds()
		c := p.claim(i)
		s.Without.drop(&c)
		weighed = r.weigh(&c, s.Still, min(max(h/s.Step, 1), pendingPerHorizon), &weighed)
		r.Verdict = weighed.verdict
		expert := weighed.best(&c)
		share := weighed.believed(expert)

		o := &s.Outlook[i]
		o.Change = max(weighed.opinion(&c, expert), -s.Last)
		o.Crest = 0
		if begins {
			o.Least = [2]float64{math.Inf(1), o.Least[0]}
		}
		o.Least[0] = min(o.Least[0], o.Change)
		switch {
		case s.Without&PartCrest != 0:
		case swings && expert == lineLong && p.long.slope > 0:
			o.Crest = share * s.Crest
		case p.hasPhase && expert == seasonal:
			o.Crest = share * p.phase.crest(h, s.Last, o.Change)
		}

		switch {
		case r.Errors.Size >= enoughResiduals:
			o.Spread = r.Errors.Spread
		case i == 0:
			o.Spread = s.firstSpread(h)
		default:
			o.Spread = shorter.times(wider(expert, share, h/Horizons[i-1].Seconds()))
		}
		shorter = o.Spread
		o.Spread = heading.reach(o.Spread, s.Records[nearest].Errors.Spread, o.Change, h)

		published := o.Change
		if s.Count < unscored {
			published = math.Inf(1)
		}
		r.promise(s.Now, s.Last, s.Still, h, published, &c)
	}
}

// nearest is the horizon on which a new course is seen first: the first that is longer than the time between samples.
func (s *state) nearest() int {
	i := 0
	for i < len(Horizons)-1 && Horizons[i].Seconds() < s.Step {
		i++
	}
	return i
}

// panel collects what the experts know.
func (s *state) panel() panel {
	median := s.Seasons.median(s.Now, int64(1e9*min(max(medianSpan, medianSamples*s.Step), 1e8)))
	p := panel{age: float64(s.Now-s.Began) / 1e9, last: s.Last, reversion: s.Auto.reversion(s.Step), median: median - s.Last}
	if l, ok := s.Quick.line(); ok {
		p.quick = l.slope / quickTau(s.Step)
	}
	p.short, _ = s.Short.line()
	p.long, _ = s.Long.line()
	p.phase, p.hasPhase = s.Seasons.phase(s.Now, s.Last)
	return p
}

// firstSpread is the spread before any forecast has come due: a random walk's of
// the usual steps, but at most the mean difference of samples that scatter so.
func (s *state) firstSpread(seconds float64) spread {
	const apart = 1.13 // mean difference of two normal deviates
	return normalSpread(min(s.Roughness*math.Sqrt(seconds), apart*s.Short.deviation()))
}

// toward interpolates: share 0 is o, 1 is next.
func (o outlook) toward(next outlook, share float64) outlook {
	mix := func(a, b float64) float64 { return a + share*(b-a) }
	return outlook{mix(o.Change, next.Change), mix(o.Crest, next.Crest), o.Least, spread{
		mix(o.Spread.Lower80, next.Spread.Lower80), mix(o.Spread.Upper80, next.Spread.Upper80),
		mix(o.Spread.Lower95, next.Spread.Lower95), mix(o.Spread.Upper95, next.Spread.Upper95),
	}}
}
