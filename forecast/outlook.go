package forecast

import "math"

// outlook is the forecast at a horizon, relative to the newest sample.
type outlook struct {
	Change float64
	Crest  float64 // how far peaks of a sawtooth rise above it
	Spread spread
}

// unscored is how many first samples make forecasts whose errors are not kept.
const unscored = 5

// look makes the forecasts. Each horizon lends its experience to the next longer one.
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
		// Shorter horizons learn sooner what has changed. Where this one has no
		// experience with the expert that they follow, they may be right.
		for _, f := range followed[:i] {
			o.Spread = o.Spread.reaching((1 - weighed.own[f.expert]) * (f.share*c[f.expert] - o.Change))
		}
		o.Spread = heading.reach(o.Spread, s.Records[nearest].Errors.Spread, o.Change, h)

		published := o.Change
		if s.Count < unscored {
			published = math.Inf(1)
		}
		r.promise(s.Now, s.Last, s.Still, h, published, &c)
	}
}

// nearest is the horizon on which a new course is seen first: half a minute, or the
// first that is longer than the time between samples.
func (s *state) nearest() int {
	i := 1
	for i < len(Horizons)-1 && Horizons[i].Seconds() < s.Step {
		i++
	}
	return i
}

// panel collects what the experts know.
func (s *state) panel() panel {
	median := s.Seasons.median(s.Now, int64(1e9*min(max(medianSpan, medianSamples*s.Step), 1e8)))
	p := panel{holt: &s.Holt, last: s.Last, reversion: s.Auto.reversion(s.Step), mean: s.Mean.height(), median: median - s.Last, age: float64(s.Now) / 1e9}
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
	return outlook{mix(o.Change, next.Change), mix(o.Crest, next.Crest), spread{
		mix(o.Spread.Lower80, next.Spread.Lower80), mix(o.Spread.Upper80, next.Spread.Upper80),
		mix(o.Spread.Lower95, next.Spread.Lower95), mix(o.Spread.Upper95, next.Spread.Upper95),
	}}
}
