package forecast

import "math"

const (
	residualCap = 96
	// enoughResiduals is from when on a horizon's intervals are its own.
	enoughResiduals = 12
)

// residuals are the last signed errors of the published forecast at one
// horizon, in bytes, oldest first in a ring and beside it in order of size.
type residuals struct {
	Ring   [residualCap]float32
	Sorted [residualCap]float32
	Next   uint8
	Size   uint8
	Last   int64 // when the newest was added, ns
}

// add takes an error in, unless the last was added a moment ago: neighbours
// say the same, and the ring should reach back over a dozen horizons.
func (r *residuals) add(now int64, err, horizon float64) {
	if r.Size > 0 && float64(now-r.Last)/1e9 < max(4, horizon/11) {
		return
	}
	r.Last = now
	v := float32(err)
	if r.Size == residualCap {
		i := r.find(r.Ring[r.Next])
		copy(r.Sorted[i:r.Size-1], r.Sorted[i+1:r.Size])
		r.Size--
	}
	r.Ring[r.Next] = v
	r.Next = (r.Next + 1) % residualCap
	i := r.find(v)
	copy(r.Sorted[i+1:r.Size+1], r.Sorted[i:r.Size])
	r.Sorted[i] = v
	r.Size++
}

// find is the place of the first that is not less than v.
func (r *residuals) find(v float32) int {
	low, high := 0, int(r.Size)
	for low < high {
		if mid := (low + high) / 2; r.Sorted[mid] < v {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// spread is an interval's bounds relative to its median, in bytes: lower ≤ 0,
// upper ≥ 0.
type spread struct{ Lower80, Upper80, Lower95, Upper95 float64 }

// spread reads the bounds off the errors, with conformal ranks: the k-th of n
// has k/(n+1) below it.
func (r *residuals) spread() spread {
	return spread{
		Lower80: min(r.quantile(0.10), 0), Upper80: max(r.quantile(0.90), 0),
		Lower95: min(r.quantile(0.025), 0), Upper95: max(r.quantile(0.975), 0),
	}
}

// beyond is by how much the worst error so far is exceeded where too few are
// known for the rank asked for.
const beyond = 1.3

func (r *residuals) quantile(p float64) float64 {
	rank := p*float64(r.Size+1) - 1
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

// normalSpread is that of a normal error with the mean absolute size given.
func normalSpread(size float64) spread {
	const z80, z95, perMean = 1.2816, 1.9600, 1.2533 // σ = mean·√(π/2)
	return spread{-z80 * perMean * size, z80 * perMean * size, -z95 * perMean * size, z95 * perMean * size}
}

// widened is how much wider than a shorter horizon's an interval is that has no
// errors of its own yet, so many times as far ahead. It grows like a random
// walk's where the forecast is naive; by share, like time where it follows a
// trend, and not at all where it returns to a mean.
func widened(expert int, share, farther float64) float64 {
	if expert == meanShort || expert == meanLong {
		share = -share
	}
	return math.Pow(farther, 0.5+0.5*share)
}
