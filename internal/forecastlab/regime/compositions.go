package regime

import (
	"math"
	"math/rand/v2"
)

// MeanReversion wanders and returns to its mean, within seconds or minutes.
func MeanReversion(r *rand.Rand) []float64 {
	mean, off := between(r, 20, 65)*GiB, wander(r, 0.2, 2)
	return series(5400, func(t float64) float64 { return mean + off(t) })
}

// slowSaturation is a warm-up of up to an hour: most easily taken for a leak.
func slowSaturation(r *rand.Rand) []float64 {
	base, fade, size := between(r, 5, 30)*GiB, between(r, 400, 1800), between(r, 2, 100)*MiB
	grows := between(r, 10, 0.9*(Capacity-base)/GiB) * GiB
	return series(7200, func(t float64) float64 { return base + grows*saturation(t/fade) + size*r.NormFloat64() })
}

// leakWithRestarts is a plateau, a leak until the GPU is full, and a restart, again and again.
func leakWithRestarts(r *rand.Rand) []float64 {
	base, size := between(r, 20, 50)*GiB, between(r, 5, 50)*MiB
	rate, begins := between(r, 15, 60)*MiB, between(r, 300, 2400)
	began, down := 0.0, 0.0
	y := make([]float64, 0, 14400)
	for t := range 14400 {
		age := float64(t) - began
		v := min(base+rate*max(age-begins, 0)+size*r.NormFloat64(), Capacity)
		switch {
		case down > 0:
			down--
			v = 0
			if down == 0 {
				began, rate, begins = float64(t), between(r, 15, 60)*MiB, between(r, 300, 2400)
			}
		case v == Capacity:
			down = math.Round(between(r, 5, 60))
		}
		y = append(y, v)
	}
	return y
}

// warmUpThenLeak levels off, stays there, and then leaks.
func warmUpThenLeak(r *rand.Rand) []float64 {
	base, grows, fade := between(r, 2, 15)*GiB, between(r, 10, 30)*GiB, between(r, 30, 200)
	rate, begins, size := between(r, 15, 60)*MiB, between(r, 900, 2400), between(r, 2, 50)*MiB
	return series(9000, func(t float64) float64 {
		return base + grows*saturation(t/fade) + rate*max(t-begins, 0) + size*r.NormFloat64()
	})
}

// alternationOverLeak goes back and forth between two levels that leak.
func alternationOverLeak(r *rand.Rand) []float64 {
	base, size, rate := between(r, 5, 25)*GiB, between(r, 4, 12)*GiB, between(r, 10, 40)*MiB
	up := phases(r, between(r, 60, 240), 0.4, 0.6)
	return series(7200, func(t float64) float64 {
		if up(t) {
			return base + rate*t + size
		}
		return base + rate*t
	})
}

// noiseOverSteps is a level that jumps now and then, with noise.
func noiseOverSteps(r *rand.Rand) []float64 {
	level, size, every := between(r, 10, 50)*GiB, between(r, 0.05, 0.6)*GiB, between(r, 300, 1200)
	return series(7200, func(float64) float64 {
		if r.Float64() < 1/every {
			level = between(r, 10, 65) * GiB
		}
		return level + size*r.NormFloat64()
	})
}

// sawtoothThenLeak is a sawtooth under which a leak begins.
func sawtoothThenLeak(r *rand.Rand) []float64 {
	saw := sawing(r)
	base, rate, size := between(r, 10, 40)*GiB, between(r, 15, 60)*MiB, between(r, 5, 50)*MiB
	begins := between(r, 900, 3000)
	return series(9000, func(t float64) float64 {
		return base + saw(t) + rate*max(t-begins, 0) + size*r.NormFloat64()
	})
}

// leakThatEnds grows for a while and then stays below the capacity.
func leakThatEnds(r *rand.Rand) []float64 {
	base, rate, size := between(r, 5, 25)*GiB, between(r, 10, 40)*MiB, between(r, 5, 50)*MiB
	ends := between(r, 0.3, 0.8) * (Capacity - base) / rate
	return series(int(ends)+3600, func(t float64) float64 { return base + rate*min(t, ends) + size*r.NormFloat64() })
}
