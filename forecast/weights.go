package forecast

import "math"

// verdict is what a horizon thinks of each expert: its loss in proportion to
// the naive forecast's, and what share of its claims comes true.
type verdict struct{ Ratio, Share [experts]float64 }

// trust is a verdict with what longer horizons have to know of it.
type weights struct {
	verdict
	own [experts]float64 // how much of each share is this horizon's own experience, 0…1
}

// distrust is what holds before there is any record: naive.
func naiveVerdict() verdict {
	var v verdict
	for i := range v.Ratio {
		v.Ratio[i] = 1
	}
	return v
}

// trust weighs a horizon's own record, of so many forecasts within its length,
// against the next shorter horizon's. Borrowed trust in a trend wanes where the
// lender had to borrow too: growth that has lasted a minute says less of the
// next quarter of an hour.
func (r *record) weigh(c *claims, still bool, perHorizon float64, shorter *weights) weights {
	const lent = 0.95
	var t weights
	for i := range c {
		k := &r.Credits[account(i, still)]
		size := max(math.Abs(c[i]), mebibyte)
		mass := priorSamples * size
		if returns(i) {
			mass *= perHorizon / samplesPerReturn
		}
		t.Ratio[i] = (k.Loss + fresher*mass*shorter.Ratio[i]) / (k.Naive + fresher*mass)
		if returns(i) {
			mass *= size // its sums are of squares
		}
		borrowed := shorter.Share[i]
		if follows(i) {
			borrowed *= lent + (1-lent)*shorter.own[i]
		}
		known := 1 / (k.Claimed + mass)
		t.Share[i] = min(max((k.Came+mass*borrowed)*known, 0), 1)
		t.own[i] = k.Claimed * known
	}
	return t
}

// best is the expert to follow, of those that claim anything now.
func (v *verdict) best(c *claims) int {
	best := 0
	for i, ratio := range v.Ratio {
		if c[i] != 0 && (c[best] == 0 || ratio < v.Ratio[best]) {
			best = i
		}
	}
	return best
}

// believed is how much of an expert's claims to believe: one who has been no
// better than naive is not believed at all.
func (v *verdict) believed(expert int) float64 {
	const wholly = 24 // from an advantage of one in so many on
	return v.Share[expert] * min(max(wholly*(1-v.Ratio[expert]), 0), 1)
}

// opinion is the change that the experts expect: the best one, and beside it
// those that are hardly worse, the less the worse they are. Which of several
// good ones is the best is mostly chance, and their errors cancel out in part.
func (v *verdict) opinion(c *claims, best int) float64 {
	const hardly = 0.1
	var sum, total float64
	for i, ratio := range v.Ratio {
		near := 1 - (ratio-v.Ratio[best])/hardly
		if near <= 0 || (c[i] == 0 && i != best) {
			continue
		}
		weight := near * near
		sum += weight * v.believed(i) * c[i]
		total += weight
	}
	return sum / total
}
