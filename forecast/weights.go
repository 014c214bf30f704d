package forecast

import "math"

// verdict rates each expert at a horizon: its loss in proportion to the naive
// forecast's, and the share of its claims that comes true.
type verdict struct{ Ratio, Share [experts]float64 }

// weights are a verdict with what the next longer horizon needs of it.
type weights struct {
	verdict
	own [experts]float64 // how much of each share is this horizon's own experience, 0…1
}

// naiveVerdict is the verdict without any record: no expert beats naive.
func naiveVerdict() verdict {
	var v verdict
	for i := range v.Ratio {
		v.Ratio[i] = 1
	}
	return v
}

// weigh combines a horizon's own record, of so many forecasts within its length,
// with the next shorter horizon's. Less is borrowed for a trend where the lender
// borrowed too: a minute of growth says little about the next quarter of an hour.
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

// best is the expert with the least loss, of those that claim anything now.
func (v *verdict) best(c *claims) int {
	best := 0
	for i, ratio := range v.Ratio {
		if c[i] != 0 && (c[best] == 0 || ratio < v.Ratio[best]) {
			best = i
		}
	}
	return best
}

// believed is the share of an expert's claims to use: none unless it beats naive.
func (v *verdict) believed(expert int) float64 {
	const wholly = 24 // all of it from an advantage of 1/24 on
	return v.Share[expert] * min(max(wholly*(1-v.Ratio[expert]), 0), 1)
}

// opinion is the change that the expert's claim is believed to bring.
func (v *verdict) opinion(c *claims, expert int) float64 { return v.believed(expert) * c[expert] }
