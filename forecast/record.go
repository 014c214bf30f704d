package forecast

import "math"

const (
	// A horizon keeps so many forecasts, so that there is room at any sampling interval.
	pendingPerHorizon = 22
	pendingCap        = pendingPerHorizon + 1

	// priorSamples is how much the next shorter horizon's experience counts: as
	// much as so many forecasts of the present claim's size. So the trend that a
	// single step leaves behind, larger than all before, is not believed.
	priorSamples = 3

	// samplesPerReturn scales that prior for experts that return to a level: so
	// many forecasts within one horizon's length count as one.
	samplesPerReturn = 6

	// fresher is how much more the shorter horizon counts for the choice of the
	// expert than for the share: it learns sooner what has changed.
	fresher = 2

	mebibyte = 1 << 20
)

// promise is a forecast that waits until it is due.
type promise struct {
	Due       int64 // nanoseconds
	Origin    float64
	Published float32 // the change that was published; +Inf: none was
	Claims    [experts]float32
}

// credit is an expert's record at a horizon: discounted sums over forecasts that came
// due, weighted by the size of the claim. d is the claim, e the change that happened.
type credit struct {
	Loss, Naive float64 // Σ ω|e−sd|, Σ ω|e| with ω = |d|/(|d|+|e|); s is the share then believed; 1 for trends, which are judged as a whole

	// For trends Σ e in the direction of d, cut to ±1.5|d|, and Σ |d|; for returns
	// to a level Σ de and Σ d²: least squares.
	Came, Claimed float64
}

// accounts is the number of credits: one for each expert, and a second one for the
// median, for the times when the series stands still.
const accounts = experts + 1

func account(expert int, still bool) int {
	if still && expert == medianLong {
		return experts
	}
	return expert
}

// record is the forecasts at one horizon: pending ones, credits and errors.
type record struct {
	Pending     [pendingCap]promise
	First, Size uint8
	Kept        int64            // when the newest pending forecast was made, ns
	Scored      int64            // when the last one came due, ns
	Published   float64          // the change that it had published, bytes
	Missed      float64          // its error, bytes
	Still       [pendingCap]bool // whether the series stood still then
	Credits     [accounts]credit
	Verdict     verdict // the newest
	Errors      residuals
}

// settle scores the forecasts that are due at now. One whose sample comes too late
// (by more than half its horizon and a second), or after a gap, is dropped.
func (r *record) settle(now int64, y float64, horizon, halfLife float64, gap bool) {
	late := int64(horizon*0.5e9) + 1e9
	for r.Size > 0 {
		p := &r.Pending[r.First]
		if p.Due > now {
			return
		}
		if !gap && now-p.Due <= late {
			r.score(p, r.Still[r.First], now, y, horizon, halfLife)
		}
		r.First = (r.First + 1) % pendingCap
		r.Size--
	}
}

func (r *record) score(p *promise, still bool, now int64, y float64, horizon, halfLife float64) {
	r.age(float64(now-r.Scored)/1e9, halfLife)
	r.Scored = now
	happened := y - p.Origin
	for i, claimed := range p.Claims {
		claim := float64(claimed)
		size := math.Abs(claim)
		if size == 0 {
			continue
		}
		believed := claim
		if !follows(i) {
			believed *= r.Verdict.Share[i]
		}
		c := &r.Credits[account(i, still)]
		weight := size / (size + math.Abs(happened))
		c.Loss += weight * math.Abs(happened-believed)
		c.Naive += weight * math.Abs(happened)
		if returns(i) {
			c.Came += claim * happened
			c.Claimed += claim * claim
		} else {
			c.Came += math.Copysign(1, claim) * min(max(happened, -1.5*size), 1.5*size)
			c.Claimed += size
		}
	}
	r.Published, r.Missed = float64(p.Published), 0
	if err := happened - float64(p.Published); !math.IsInf(err, 0) {
		r.Missed = err
		if r.Errors.due(now, horizon) {
			r.Errors.add(now, r.hindsight(p, now, err, happened, horizon))
		}
	}
}

// age discounts the past. It takes several swings to see a level: those last longer.
func (r *record) age(seconds, halfLife float64) {
	const shortestOfLevels = 1000 // seconds
	trends := math.Exp(-math.Ln2 * seconds / halfLife)
	levels := math.Exp(-math.Ln2 * seconds / max(halfLife, shortestOfLevels))
	for i := range r.Credits {
		keep := trends
		if i == experts || resting(i) {
			keep = levels
		}
		c := &r.Credits[i]
		c.Loss, c.Naive, c.Came, c.Claimed = c.Loss*keep, c.Naive*keep, c.Came*keep, c.Claimed*keep
	}
}

// hindsight is a mean of a forecast's own error and the one that it would have had
// with the present weights, which counts for more the younger the series is.
func (r *record) hindsight(p *promise, now int64, err, happened, horizon float64) float64 {
	var c claims
	for i, claimed := range p.Claims {
		c[i] = float64(claimed)
	}
	share := horizon / (horizon/2 + float64(now)/1e9)
	return err + share*(happened-r.Verdict.opinion(&c, r.Verdict.best(&c))-err)
}

// promise keeps a forecast until it is due.
func (r *record) promise(now int64, y float64, still bool, horizon, published float64, c *claims) {
	length := int64(horizon * 1e9)
	if r.Size == pendingCap || (r.Size > 0 && now-r.Kept < length/pendingPerHorizon) {
		return
	}
	at := (r.First + r.Size) % pendingCap
	r.Still[at] = still
	p := &r.Pending[at]
	*p = promise{Due: now + length, Origin: y, Published: float32(published)}
	for i := range c {
		p.Claims[i] = float32(c[i])
	}
	r.Size++
	r.Kept = now
}

// forget drops credits and pending claims. Pending forecasts still add their errors.
func (r *record) forget() {
	r.Credits, r.Verdict = [accounts]credit{}, naiveVerdict()
	for i := range r.Pending {
		r.Pending[i].Claims = [experts]float32{}
	}
}
