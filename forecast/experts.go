package forecast

import "math"

// The experts. Each claims a change at a horizon; the naive forecast claims none.
const (
	driftQuick = iota // continues as in the last seconds
	driftShort        // continues as in the last minute
	lineShort         // continues the line of the last minute
	lineLong          // continues the line of the last five minutes
	reverting         // approaches a level, as fast as the series has approached it
	seasonal          // repeats the last cycle of a sawtooth
	experts
)

// claims are the experts' claims at one horizon, in bytes.
type claims [experts]float32

// panel is the state from which the experts make their claims.
type panel struct {
	quick, short, long line
	phase              seasonalPhase
	level, speed       float64 // the level to which the series returns, and how fast: the results of reversion
}

func (s *state) panel() panel {
	level, speed := s.Auto.reversion(s.Step)
	return panel{
		s.Lines[0].line(s.quickTau()), s.Lines[1].line(shortTau), s.Lines[2].line(longTau),
		s.Seasons.phase(s.Now, s.Last), level, speed,
	}
}

func (s *state) claim(p *panel, seconds float64) (out claims) {
	for i, claim := range [experts]float64{
		driftQuick: p.quick.slope * seconds,
		driftShort: p.short.slope * seconds,
		lineShort:  p.short.height + p.short.slope*seconds,
		lineLong:   p.long.height + p.long.slope*seconds,
		reverting:  -p.level * math.Expm1(-p.speed*seconds),
		seasonal:   p.phase.claim(seconds, s.Last),
	} {
		if math.Abs(claim) < math.MaxFloat32 { // also false for NaN
			out[i] = float32(claim)
		}
	}
	return out
}

// credit is an expert's record at a horizon: discounted sums over forecasts that came due. d is
// the claimed change, e the actual one.
type credit struct {
	Gain, Naive   float32 // Σ ω(|e|−|e−sd|), Σ ω|e| with ω = |d|/(|d|+|e|); s is the share then believed, 1 for trends
	Came, Claimed float32 // Σ e in the direction of d, cut to ±1.5|d|, and Σ |d|
}

// verdict rates each expert at a horizon: how much of the naive forecast's loss it saves, and
// which share of its claims comes true.
type verdict struct{ Gain, Share [experts]float32 }

// weigh combines a horizon's own record with the next shorter horizon's verdict v, and leaves the
// result in v. The verdict counts as much as a few forecasts of the present claim's size, so that
// the unusually large trend that a single step leaves behind is not believed.
func (r *record) weigh(c *claims, v *verdict) {
	for i, claim := range c {
		size := abs(claim)
		if size < mebibyte { // max is slower
			size = mebibyte
		}
		k, mass := &r.Credits[i], priorSamples*size
		v.Gain[i] = (k.Gain + mass*v.Gain[i]) / (k.Naive + mass)
		share := min(max((k.Came+mass*v.Share[i])/(k.Claimed+mass), 0), 1)
		v.Share[i], r.Shares[i] = share, share
	}
}

// choose returns the expert that saves most, among those with a claim now, and the change to
// forecast: a share of its claim, or 0 if no expert beats naive.
func (v *verdict) choose(c *claims) (best int, change float64) {
	bestGain := float32(0)
	for i, gain := range v.Gain {
		if c[i] != 0 && gain > bestGain {
			best, bestGain, change = i, gain, float64(v.Share[i]*c[i])
		}
	}
	return best, change
}

// score adds the outcome of the claims to the credits.
func (r *record) score(c *claims, came, keep float32) {
	for i, claim := range c {
		k := &r.Credits[i]
		k.Gain, k.Naive, k.Came, k.Claimed = k.Gain*keep, k.Naive*keep, k.Came*keep, k.Claimed*keep
		size := max(abs(claim), 1)
		believed, cut := claim, outlier*size
		if i > lineLong {
			believed *= r.Shares[i]
		}
		weight := size / (size + abs(came))
		k.Gain += weight * (abs(came) - abs(came-believed))
		k.Naive += weight * abs(came)
		k.Came += min(max(came*claim/size, -cut), cut)
		k.Claimed += size
	}
}

func abs(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }
