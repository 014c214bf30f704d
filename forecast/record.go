package forecast

import (
	"math"
	"slices"
	"sort"
)

// promise is a forecast that is not due yet.
type promise struct {
	Due               int64   // nanoseconds
	Origin, Published float32 // bytes, and the change that was published
	Claims            claims
}

// record holds what became of the forecasts at one horizon, and when the next are due.
type record struct {
	First, Size uint8
	Due, Next   int64 // when the first pending forecast is due, and when the next is kept, ns
	Scored      int64 // when the last forecast was scored, ns
	Credits     [experts]credit
	Shares      [experts]float32 // the newest verdict's
	Errors      residuals
}

// settle scores the forecasts that are due at now. It drops one whose sample comes too late (by
// more than half its horizon and a second), or after a gap.
func (r *record) settle(pending *[pendingCap]promise, now int64, y float64, horizon, halfLife float64, gap bool) {
	for r.Size > 0 && r.Due <= now {
		p := &pending[r.First]
		if !gap && now-p.Due <= int64(horizon*1e9/2)+1e9 {
			happened := y - float64(p.Origin)
			r.score(&p.Claims, float32(happened), float32(math.Exp2(-float64(now-r.Scored)/1e9/halfLife)))
			r.Scored = now
			// The ring covers as many horizons as it has errors, at most an hour or the half-life.
			r.Errors.add(now, min(horizon, min(float64(now)/1e9, max(hour, halfLife))/residualCap), mebibyte, happened-float64(p.Published))
		}
		r.First, r.Size = (r.First+1)%pendingCap, r.Size-1
		r.Due = pending[r.First].Due
	}
}

// promise keeps a forecast until it is due.
func (r *record) promise(pending *[pendingCap]promise, now int64, y float64, horizon, published float64, c *claims) {
	if r.Size < pendingCap && (r.Size == 0 || now >= r.Next) {
		pending[(r.First+r.Size)%pendingCap] = promise{now + int64(horizon*1e9), float32(y), float32(published), *c}
		r.Size++
		r.Due, r.Next = pending[r.First].Due, now+int64(horizon*1e9)/(pendingCap-1)
	}
}

// residuals are the last errors of a kind.
type residuals struct {
	Next, Size uint8
	Scale      float32 // the logarithm of how much wider than the errors the interval is
	Spread     spread
	Last       int64              // when the newest was added, ns
	Order      [residualCap]uint8 // places in the ring, by size
	Ring       [residualCap]float32
}

// spread is an interval relative to its median, in bytes: lower ≤ 0, upper ≥ 0.
type spread struct{ Lower80, Upper80, Lower95, Upper95 float32 }

// add adds an error, unless it comes less than apart seconds after the last one. In a full ring it
// replaces the oldest one.
func (r *residuals) add(now int64, apart, tolerance, err float64) {
	if r.Size > 0 && float64(now-r.Last)/1e9 < apart {
		return
	}
	if r.Size >= enoughResiduals {
		r.Scale -= (1 - level) * adapting
		if err < float64(r.Spread.Lower80)-tolerance || err > float64(r.Spread.Upper80)+tolerance {
			r.Scale += adapting
		}
		r.Scale = min(max(r.Scale, -1), 1)
	}
	order := r.Order[:r.Size]
	if oldest := slices.Index(order, r.Next); oldest >= 0 {
		order = slices.Delete(order, oldest, oldest+1)
	}
	r.Last, r.Ring[r.Next] = now, float32(err)
	place := sort.Search(len(order), func(i int) bool { return r.Ring[order[i]] > float32(err) })
	r.Size = uint8(len(slices.Insert(order, place, r.Next)))
	r.Next = (r.Next + 1) % residualCap
	r.Spread = spread{
		Lower80: min(r.quantile(0.10), 0), Upper80: max(r.quantile(0.90), 0),
		Lower95: min(r.quantile(0.025), 0), Upper95: max(r.quantile(0.975), 0),
	}.times(float32(math.Exp(float64(r.Scale))))
}

// quantile returns the error with a conformal rank: of n errors the k-th has k/(n+1) below it. With
// too few errors for a rank it lies beyond the worst.
func (r *residuals) quantile(p float64) float32 {
	last := float64(r.Size) - 1
	rank := p*(last+2) - 1
	if rank < 0 || rank > last {
		return beyond * r.Ring[r.Order[int(min(max(rank, 0), last))]]
	}
	below := int(rank)
	low, high := r.Ring[r.Order[below]], r.Ring[r.Order[min(below+1, int(last))]]
	return low + float32(rank-float64(below))*(high-low)
}

// atLeast returns the interval, widened to o at each end.
func (s spread) atLeast(o spread) spread {
	return spread{min(s.Lower80, o.Lower80), max(s.Upper80, o.Upper80), min(s.Lower95, o.Lower95), max(s.Upper95, o.Upper95)}
}

func (s spread) times(k float32) spread {
	return spread{s.Lower80 * k, s.Upper80 * k, s.Lower95 * k, s.Upper95 * k}
}
