package regime

import "math/rand/v2"

// Change is a kind of series with one change of regime, long after its start.
type Change struct {
	Name string
	Make func(r *rand.Rand) (bytes []float64, at int) // one sample a second, and the first after the change
}

// Changes is every kind.
func Changes() []Change {
	return []Change{
		{"a leak begins out of a plateau", leakBegins(0)},
		{"a leak begins after a warm-up", leakBegins(1)},
		{"a leak begins under a sawtooth", leakBeginsUnderSawtooth},
		{"a leak ends", leakEnds},
		{"a level jumps", levelJumps},
	}
}

// afterwards is how long series continue, in seconds, unless they fill the GPU.
const afterwards = 1800

// leakBegins is a plateau followed by a leak, after a warm-up or none.
func leakBegins(warmUps float64) func(r *rand.Rand) ([]float64, int) {
	return func(r *rand.Rand) ([]float64, int) {
		base, size, at := between(r, 10, 40)*GiB, between(r, 5, 100)*MiB, int(between(r, 1200, 3000))
		rate, warm := between(r, 15, 60)*MiB, between(r, 5, 20)*GiB*warmUps
		fade := between(r, 30, 200)
		return series(at+afterwards, func(t float64) float64 {
			return base + warm*saturation(t/fade) + rate*max(t-float64(at), 0) + size*r.NormFloat64()
		}), at
	}
}

// leakBeginsUnderSawtooth is a level sawtooth that begins to rise.
func leakBeginsUnderSawtooth(r *rand.Rand) ([]float64, int) {
	saw := sawing(r)
	base, rate, size, at := between(r, 10, 40)*GiB, between(r, 15, 60)*MiB, between(r, 5, 50)*MiB, int(between(r, 1200, 3000))
	return series(at+afterwards, func(t float64) float64 {
		return base + saw(t) + rate*max(t-float64(at), 0) + size*r.NormFloat64()
	}), at
}

// leakEnds grows until it stays where it is.
func leakEnds(r *rand.Rand) ([]float64, int) {
	base, size, at := between(r, 5, 25)*GiB, between(r, 5, 100)*MiB, int(between(r, 1200, 1800))
	rate := between(r, 10, 25) * MiB
	return series(at+afterwards, func(t float64) float64 { return base + rate*min(t, float64(at)) + size*r.NormFloat64() }), at
}

// levelJumps is noise around a level, and then around another one.
func levelJumps(r *rand.Rand) ([]float64, int) {
	before, after := between(r, 10, 40)*GiB, between(r, 10, 70)*GiB
	size, at := between(r, 5, 300)*MiB, int(between(r, 1200, 3000))
	return series(at+afterwards, func(t float64) float64 {
		level := before
		if t >= float64(at) {
			level = after
		}
		return level + size*r.NormFloat64()
	}), at
}
