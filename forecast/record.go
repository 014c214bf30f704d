package forecast

import "math"

const (
	// A horizon keeps a forecast in mind every 22nd part of its length, so
	// that the pending ones have room at any sampling interval.
	pendingPerHorizon = 22
	pendingCap        = pendingPerHorizon + 1

	// priorSamples is how many forecasts of the present claim's size a
	// horizon's own record must weigh up against what it is told by the next
	// shorter horizon. A claim larger than all before finds itself without a
	// record, which is what keeps the trend that a single step leaves behind
	// from being believed.
	priorSamples = 3

	// samplesPerReturn is how many forecasts within one horizon's length count
	// as that prior's where an expert returns to a level. What is back once
	// proves little, however many samples have seen it.
	samplesPerReturn = 6

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
	Loss, Naive float64 // Σ ω|e−sd|, Σ ω|e| with ω = |d|/(|d|+|e|); s is the share then believed, and 1 of trends, which are true as a whole or not at all

	// Of trends Σ e in the direction of d and Σ |d|; e is cut to ±1.5|d|, so
	// that one step cannot pay for a hundred claims. Of what returns to a
	// level Σ de and Σ d²: least squares.
	Came, Claimed float64
}

// accounts are the experts' credits. Those that rest on a level have another
// one for the times when the series stands still: then it has often come to
// stay, where it would come back if it were moving.
const accounts = experts + 2

func account(expert int, still bool) int {
	switch {
	case still && expert == meanLong:
		return experts
	case still && expert == medianLong:
		return experts + 1
	default:
		return expert
	}
}

// record is what is known of forecasts at one horizon.
type record struct {
	Pending     [pendingCap]promise
	Still       [pendingCap]bool // whether the series stood still then
	First, Size uint8
	Kept        int64   // when the newest pending forecast was made, ns
	Scored      int64   // when the last one came due, ns
	Said        float64 // what that had said, bytes
	Missed      float64 // and by how much it was wrong
	Credits     [accounts]credit
	Verdict     verdict // the newest
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
	r.Said, r.Missed = float64(p.Published), 0
	if err := happened - float64(p.Published); !math.IsInf(err, 0) {
		r.Missed = err
		if r.Errors.due(now, horizon) {
			r.Errors.add(now, r.hindsight(p, now, err, happened, horizon))
		}
	}
}

// age discounts the past by the seconds that have gone by. Whether there is a
// level takes several of its swings to see.
func (r *record) age(seconds, halfLife float64) {
	const shortestOfLevels = 1000 // seconds
	trends := math.Exp(-math.Ln2 * seconds / halfLife)
	levels := math.Exp(-math.Ln2 * seconds / max(halfLife, shortestOfLevels))
	for i := range r.Credits {
		keep := trends
		if i >= experts || resting(i) {
			keep = levels
		}
		c := &r.Credits[i]
		c.Loss, c.Naive, c.Came, c.Claimed = c.Loss*keep, c.Naive*keep, c.Came*keep, c.Claimed*keep
	}
}

// hindsight is a forecast's error, between the one that it had and the one
// that it would have had if experts had been trusted as they are now. Forecasts
// of a young series come from those who knew it even less than is known now,
// so that their errors say little of what is to come; those of an old one are
// what they are.
func (r *record) hindsight(p *promise, now int64, err, happened, horizon float64) float64 {
	var c claims
	for i, claimed := range p.Claims {
		c[i] = float64(claimed)
	}
	share := horizon / (horizon/2 + float64(now)/1e9)
	return err + share*(happened-r.Verdict.opinion(&c, r.Verdict.best(&c))-err)
}

// promise keeps a forecast in mind until it is due.
func (r *record) promise(now int64, y float64, still bool, horizon, published float64, c *claims) {
	length := int64(horizon * 1e9)
	if r.Size == pendingCap || (r.Size > 0 && now-r.Kept < length/pendingPerHorizon) {
		return
	}
	at := (r.First + r.Size) % pendingCap
	p := &r.Pending[at]
	*p = promise{Due: now + length, Origin: y, Published: float32(published)}
	for i := range c {
		p.Claims[i] = float32(c[i])
	}
	r.Still[at] = still
	r.Size++
	r.Kept = now
}

// forget leaves no trace of who was right. What is pending still shows how
// large errors are.
func (r *record) forget() {
	r.Credits, r.Verdict = [accounts]credit{}, naiveVerdict()
	for i := range r.Pending {
		r.Pending[i].Claims = [experts]float32{}
	}
}
