package forecast

import "math"

const (
	pendingCap = 33
	// A horizon keeps a forecast in mind every 32nd part of its length, so
	// that the pending ones have room at any sampling interval.
	pendingPerHorizon = 32

	// priorSamples is how many forecasts of the present claim's size a
	// horizon's own record must weigh up against what it is told by the next
	// shorter horizon. A claim larger than all before finds itself without a
	// record, which is what keeps the trend that a single step leaves behind
	// from being believed.
	priorSamples = 4

	// samplesPerLevel is how many forecasts within one horizon's length count
	// as that prior's where an expert returns to a level. What is back once
	// proves little, however many samples have seen it.
	samplesPerLevel = 8

	// fresher is how much more the shorter horizon has to say on whom to
	// follow than on how far: it has heard sooner of what has changed.
	fresher = 2

	mebibyte = 1 << 20
)

// promise is a forecast that waits for its time to come.
type promise struct {
	Due       int64 // nanoseconds
	Origin    float64
	Published float32 // the change that was published; +Inf: none was
	Claims    [experts]float32
}

// credit is an expert's track record at a horizon: discounted sums over
// forecasts that came due, of which each counts as far as the expert then
// claimed anything. d is its claim, e what happened.
type credit struct {
	Loss, Naive   float64 // Σ ω|e−sd|, Σ ω|e| with ω = |d|/(|d|+|e|); s is the share then believed, and 1 of trends, which are true as a whole or not at all
	Came, Claimed float64 // Σ e in the direction of d, Σ |d|; e cut to ±1.5|d|, so that one step cannot pay for a hundred claims
}

// record is what is known of forecasts at one horizon.
type record struct {
	Pending     [pendingCap]promise
	First, Size uint8
	Kept        int64 // when the newest pending forecast was made, ns
	Scored      int64 // when the last one came due, ns
	Credits     [experts]credit
	Shares      [experts]float32 // of claims, as last believed
	Errors      residuals
}

// settle scores the forecasts that are due at now. One that finds its sample
// too late (more than half its horizon and a second), or none because the
// time between was a gap, is dropped unscored.
func (r *record) settle(now int64, y float64, horizon, halfLife float64, gap bool) {
	late := int64(horizon*0.5e9) + 1e9
	for r.Size > 0 {
		p := &r.Pending[r.First]
		if p.Due > now {
			return
		}
		if !gap && now-p.Due <= late {
			r.score(p, now, y, horizon, halfLife)
		}
		r.First = (r.First + 1) % pendingCap
		r.Size--
	}
}

func (r *record) score(p *promise, now int64, y float64, horizon, halfLife float64) {
	const shortestOfLevels = 600 // seconds: whether there is a level takes several of its swings to see
	since := float64(now-r.Scored) / 1e9
	r.Scored = now
	ofTrends := math.Exp2(-since / halfLife)
	ofLevels := math.Exp2(-since / max(halfLife, shortestOfLevels))
	happened := y - p.Origin
	for i := range r.Credits {
		c := &r.Credits[i]
		keep := ofTrends
		if levels(i) {
			keep = ofLevels
		}
		c.Loss, c.Naive, c.Came, c.Claimed = c.Loss*keep, c.Naive*keep, c.Came*keep, c.Claimed*keep
		claim := float64(p.Claims[i])
		size := math.Abs(claim)
		if size == 0 {
			continue
		}
		believed := claim
		if !follows(i) {
			believed *= float64(r.Shares[i])
		}
		weight := size / (size + math.Abs(happened))
		c.Loss += weight * math.Abs(happened-believed)
		c.Naive += weight * math.Abs(happened)
		c.Came += math.Copysign(1, claim) * min(max(happened, -1.5*size), 1.5*size)
		c.Claimed += size
	}
	if err := happened - float64(p.Published); !math.IsInf(err, 0) {
		r.Errors.add(now, err, horizon)
	}
}

// promise keeps a forecast in mind until it is due.
func (r *record) promise(now int64, y float64, horizon, published float64, c *claims) {
	length := int64(horizon * 1e9)
	if r.Size == pendingCap || (r.Size > 0 && now-r.Kept < length/pendingPerHorizon) {
		return
	}
	p := &r.Pending[(r.First+r.Size)%pendingCap]
	*p = promise{Due: now + length, Origin: y, Published: float32(published)}
	for i := range c {
		p.Claims[i] = float32(c[i])
	}
	r.Size++
	r.Kept = now
}

// trust is what a horizon thinks of each expert: its loss in proportion to the
// naive forecast's, and what share of its claims comes true.
type trust struct {
	ratio, share [experts]float64
	own          [experts]float64 // how much of share is this horizon's own experience, 0…1
}

// distrust is what holds before there is any record: naive.
func distrust() trust {
	var t trust
	for i := range t.ratio {
		t.ratio[i] = 1
	}
	return t
}

// forget leaves no trace of who was right. What is pending still shows how
// large errors are.
func (r *record) forget() {
	r.Credits, r.Shares = [experts]credit{}, [experts]float32{}
	for i := range r.Pending {
		r.Pending[i].Claims = [experts]float32{}
	}
}

// trust weighs a horizon's own record, of so many forecasts within its length,
// against the next shorter horizon's. Borrowed trust in a trend wanes where the
// lender had to borrow too: growth that has lasted a minute says less of the
// next quarter of an hour.
func (r *record) trust(c *claims, perHorizon float64, shorter *trust) trust {
	const lent = 0.9
	var t trust
	for i := range c {
		k := &r.Credits[i]
		mass := priorSamples * max(math.Abs(c[i]), mebibyte)
		if levels(i) {
			mass *= perHorizon / samplesPerLevel
		}
		t.ratio[i] = (k.Loss + fresher*mass*shorter.ratio[i]) / (k.Naive + fresher*mass)
		borrowed := shorter.share[i]
		if follows(i) {
			borrowed *= lent + (1-lent)*shorter.own[i]
		}
		t.share[i] = min(max((k.Came+mass*borrowed)/(k.Claimed+mass), 0), 1)
		t.own[i] = k.Claimed / (k.Claimed + mass)
		r.Shares[i] = float32(t.share[i])
	}
	return t
}

// choose names the expert to follow, of those that claim anything now, and how
// much of its claim to believe: one who has been no better than naive is not
// followed at all.
func (t *trust) choose(c *claims) (expert int, share float64) {
	best := 0
	for i, ratio := range t.ratio {
		if c[i] != 0 && (c[best] == 0 || ratio < t.ratio[best]) {
			best = i
		}
	}
	const believed = 12 // all of its share from an advantage of a twelfth on
	return best, t.share[best] * min(max(believed*(1-t.ratio[best]), 0), 1)
}
