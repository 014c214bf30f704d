package forecast

import (
	"math"
	"slices"
)

const (
	residualCap = 96
	// enoughResiduals is how many errors a horizon needs for intervals of its own.
	enoughResiduals = 12
)

// residuals are the last errors of the forecasts published at one horizon, in bytes.
type residuals struct {
	Ring   [residualCap]float32
	Sorted [residualCap]float32
	Next   uint8
	Size   uint8
	Last   int64 // when the newest was added, ns
	Spread spread
}

// due reports whether another error is worth adding: the ring should cover a dozen
// horizons (two dozen of an old series), but hardly more than two hours.
func (r *residuals) due(now int64, horizon float64) bool {
	age := float64(now) / 1e9
	apart := max(4, horizon/11, min(horizon/4, age/150, 82))
	return r.Size == 0 || float64(now-r.Last)/1e9 >= apart
}

// add adds an error; where the ring is full it replaces the oldest one.
func (r *residuals) add(now int64, err float64) {
	r.Last = now
	v := float32(err)
	if r.Size == residualCap {
		i, _ := slices.BinarySearch(r.Sorted[:], r.Ring[r.Next])
		copy(r.Sorted[i:], r.Sorted[i+1:])
		r.Size--
	}
	r.Ring[r.Next] = v
	r.Next = (r.Next + 1) % residualCap
	i, _ := slices.BinarySearch(r.Sorted[:r.Size], v)
	copy(r.Sorted[i+1:r.Size+1], r.Sorted[i:r.Size])
	r.Sorted[i] = v
	r.Size++
	r.Spread = r.spread()
}

// spread is an interval relative to its median, in bytes: lower ≤ 0, upper ≥ 0.
type spread struct{ Lower80, Upper80, Lower95, Upper95 float64 }

// spread takes the bounds from the errors, with conformal ranks: of n independent
// errors the k-th has k/(n+1) below it. Correlated errors have the ranks of fewer, a
// little further out because each of the few is smeared over its neighbours.
func (r *residuals) spread() spread {
	const smeared = 0.15
	n, independent := float64(r.Size), r.independent()
	rank := func(p float64) float64 {
		return (p*(independent+1) - smeared*(1-independent/n)) * n / independent
	}
	low80, low95 := rank(0.10), rank(0.025)
	return spread{
		Lower80: min(r.ranked(low80), 0), Upper80: max(r.ranked(n+1-low80), 0),
		Lower95: min(r.ranked(low95), 0), Upper95: max(r.ranked(n+1-low95), 0),
	}
}

// independent is how many independent errors the ring's are worth: n(1−ρ)/(1+ρ), ρ
// being the correlation of neighbours (Bayley, Hammersley 1946).
func (r *residuals) independent() float64 {
	const closest, fewest = 0.95, 2
	n := float64(r.Size)
	var sum, squares, products, before float64
	for i := range int(r.Size) {
		e := float64(r.Ring[(int(r.Next)+residualCap-int(r.Size)+i)%residualCap])
		sum += e
		squares += e * e
		products += e * before // the first has none before it: 0
		before = e
	}
	variance := squares - sum*sum/n
	if !(variance > 0) {
		return n
	}
	correlation := (products - sum*sum*(n-1)/(n*n)) / variance
	correlation = min(max(correlation, 0), closest)
	return max(n*(1-correlation)/(1+correlation), min(n, fewest))
}

// beyond is the factor on the worst error where there are too few errors for a rank.
const beyond = 1.3

// ranked is the error at a rank, counted from 1, interpolated between two.
func (r *residuals) ranked(rank float64) float64 {
	rank--
	last := float64(r.Size - 1)
	switch {
	case rank < 0:
		return beyond * float64(r.Sorted[0])
	case rank > last:
		return beyond * float64(r.Sorted[r.Size-1])
	case rank == last:
		return float64(r.Sorted[r.Size-1])
	}
	below := int(rank)
	low, high := float64(r.Sorted[below]), float64(r.Sorted[below+1])
	return low + (rank-float64(below))*(high-low)
}

func (s spread) times(k float64) spread {
	return spread{s.Lower80 * k, s.Upper80 * k, s.Lower95 * k, s.Upper95 * k}
}

// The bounds of normal errors, in standard deviations.
const z80, z95 = 1.2816, 1.9600

// normalSpread is the spread of normal errors with the given mean absolute size.
func normalSpread(size float64) spread {
	const perMean = 1.2533 // σ = mean·√(π/2)
	return spread{-z80 * perMean * size, z80 * perMean * size, -z95 * perMean * size, z95 * perMean * size}
}

// wide is the width of the 80 % interval.
func (s spread) wide() float64 { return s.Upper80 - s.Lower80 }

// wider is how much wider a borrowed interval is than that of the next shorter
// horizon: a power of how much farther ahead it is, ½ for a random walk, nearer to 1
// for a trend and to 0 for a return to a level.
func wider(expert int, share, farther float64) float64 {
	power := 0.5 + 0.5*share
	if returns(expert) {
		power = 0.5 - 0.5*share
	}
	return math.Pow(farther, power)
}
