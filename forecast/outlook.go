package forecast

import "math"

// outlook is the forecast at a horizon, relative to the newest sample.
type outlook struct {
	Change float64
	Crest  float64 // by how much teeth stand out above it
	Spread spread
}

// clueless is how many samples it takes until a forecast's error says anything
// of later ones' errors.
const clueless = 5

// look makes the forecasts of this sample, from the shortest horizon to the
// longest, because each lends its experience to the next.
func (s *state) look(seconds float64) {
	p := s.panel()
	s.Crest = settled(max(s.Crest*math.Exp(-seconds/longTau), -p.long.height, 0))
	swings := s.Sawtooth.recur(s.Now, s.Step)
	weighed := weights{verdict: naiveVerdict()}
	var wider widening
	var shorter spread
	var followed [len(Horizons)]struct {
		expert int
		share  float64
	}
	nearest := s.nearest()
	heading := s.Changepoint.watch(s.Now, s.Step, &s.Records[nearest], Horizons[nearest].Seconds())
	for i := range s.Records {
		r, h := &s.Records[i], Horizons[i].Seconds()
		c := p.claim(i)
		weighed = r.weigh(&c, s.Still, min(max(h/s.Step, 1), pendingPerHorizon), &weighed)
		r.Verdict = weighed.verdict
		expert := weighed.best(&c)
		share := weighed.believed(expert)
		followed[i].expert, followed[i].share = expert, share

		o := &s.Outlook[i]
		o.Change = max(weighed.opinion(&c, expert), -s.Last)
		o.Crest = 0
		switch {
		case swings && expert == lineLong && p.long.slope > 0:
			o.Crest = share * s.Crest
		case p.hasPhase && expert == seasonal:
			o.Crest = share * p.phase.crest(h, s.Last, o.Change)
		}

		switch {
		case r.Errors.Size >= enoughResiduals:
			o.Spread = r.Errors.Spread
			wider.measure(o.Spread.wide(), h, r.Errors.Size)
		case i == 0:
			o.Spread = s.firstSpread(h)
		default:
			o.Spread = shorter.times(wider.over(expert, share, h/Horizons[i-1].Seconds()))
		}
		shorter = o.Spread
		// Shorter horizons have heard sooner of what has changed. Where this one
		// has no experience with what they follow, they may be right.
		for _, f := range followed[:i] {
			o.Spread = o.Spread.reaching((1 - weighed.own[f.expert]) * (f.share*c[f.expert] - o.Change))
		}
		o.Spread = heading.reach(o.Spread, s.Records[nearest].Errors.Spread, o.Change, h)

		published := o.Change
		if s.Count < clueless {
			published = math.Inf(1)
		}
		r.promise(s.Now, s.Last, s.Still, h, published, &c)
	}
}

// nearest is the horizon on which a new course is seen first: of half a minute,
// or the first that samples are not too rare for.
func (s *state) nearest() int {
	i := 1
	for i < len(Horizons)-1 && Horizons[i].Seconds() < s.Step {
		i++
	}
	return i
}

// panel is what the experts know.
func (s *state) panel() panel {
	median := s.Seasons.median(s.Now, int64(1e9*min(max(medianSpan, medianSamples*s.Step), 1e8)))
	p := panel{holt: &s.Holt, last: s.Last, reversion: s.Auto.reversion(s.Step), mean: s.Mean.height(), median: median - s.Last, age: float64(s.Now) / 1e9}
	p.short, p.hasShort = s.Short.line()
	p.long, p.hasLong = s.Long.line()
	p.phase, p.hasPhase = s.Seasons.phase(s.Now, s.Last)
	return p
}

// firstSpread is that of the naive forecast before any has come due: a random
// walk's of such steps, and no more than samples differ that scatter as these.
func (s *state) firstSpread(seconds float64) spread {
	const apart = 1.13 // mean difference of two normal deviates
	return normalSpread(min(s.Roughness*math.Sqrt(seconds), apart*s.Short.deviation()))
}

// toward is the way from o to next, of which share has been gone.
func (o outlook) toward(next outlook, share float64) outlook {
	mix := func(a, b float64) float64 { return a + share*(b-a) }
	return outlook{mix(o.Change, next.Change), mix(o.Crest, next.Crest), spread{
		mix(o.Spread.Lower80, next.Spread.Lower80), mix(o.Spread.Upper80, next.Spread.Upper80),
		mix(o.Spread.Lower95, next.Spread.Lower95), mix(o.Spread.Upper95, next.Spread.Upper95),
	}}
}
