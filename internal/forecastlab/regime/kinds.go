package regime

import (
	"math"
	"math/rand/v2"
)

// steps is constant between jumps, every few minutes.
func steps(r *rand.Rand) []float64 {
	level := between(r, 10, 50) * GiB
	return series(3600, func(float64) float64 {
		if r.Float64() < 1.0/180 {
			level = between(r, 10, 60) * GiB
		}
		return level
	})
}

// alternation goes back and forth between two levels, in phases of uneven length.
func alternation(r *rand.Rand) []float64 {
	low, high := between(r, 10, 30)*GiB, between(r, 35, 60)*GiB
	up := phases(r, between(r, 60, 400), 0.3, 0.6)
	return series(3600, func(t float64) float64 {
		if up(t) {
			return high
		}
		return low
	})
}

// Noise is noise around a mean that keeps up to nine tenths of its offset from one
// second to the next.
func Noise(r *rand.Rand) []float64 {
	mean, size, keep := between(r, 20, 70)*GiB, between(r, 0.1, 1.5)*GiB, between(r, 0, 0.9)
	off := 0.0
	return series(3600, func(float64) float64 {
		off = keep*off + math.Sqrt(1-keep*keep)*size*r.NormFloat64()
		return mean + off
	})
}

// warmUp grows ever more slowly up to a level.
func warmUp(r *rand.Rand) []float64 {
	base, grows, fade, size := between(r, 2, 20)*GiB, between(r, 10, 45)*GiB, between(r, 40, 500), between(r, 2, 60)*MiB
	return series(3600, func(t float64) float64 {
		return base + grows*saturation(t/fade) + size*r.NormFloat64()
	})
}

// saturation is the share of a warm-up that is done after t time constants.
func saturation(t float64) float64 { return 1 - math.Exp(-t) }

// sawing makes a sawtooth: from 0 up to its size, and back at once.
func sawing(r *rand.Rand) func(t float64) float64 {
	size, period := between(r, 2, 8)*GiB, between(r, 20, 200)
	began := 0.0
	length := period
	return func(t float64) float64 {
		if t-began >= length {
			began, length = t, period*between(r, 0.9, 1.1)
		}
		return size * (t - began) / length
	}
}

// Sawtooth rises and falls back, in cycles of nearly the same length.
func Sawtooth(r *rand.Rand) []float64 {
	saw := sawing(r)
	base, size := between(r, 20, 71)*GiB, between(r, 5, 50)*MiB
	return series(3600, func(t float64) float64 { return base + saw(t) + size*r.NormFloat64() })
}

// Leak grows at a rate until the GPU is full.
func Leak(r *rand.Rand) []float64 {
	base, rate, size := between(r, 5, 50)*GiB, between(r, 15, 60)*MiB, between(r, 5, 100)*MiB
	return series(7200, func(t float64) float64 { return base + rate*t + size*r.NormFloat64() })
}

// bursts is a leak in bursts at random moments.
func bursts(r *rand.Rand) []float64 {
	base, rate, every := between(r, 5, 50)*GiB, between(r, 15, 60)*MiB, between(r, 3, 15)
	level := base
	return series(7200, func(float64) float64 {
		if r.Float64() < 1/every {
			level += rate * every * between(r, 0.5, 1.5)
		}
		return level
	})
}

// staircase is a leak in even steps.
func staircase(r *rand.Rand) []float64 {
	base, rate, every := between(r, 5, 40)*GiB, between(r, 15, 60)*MiB, math.Round(between(r, 10, 60))
	size := between(r, 1, 20) * MiB
	return series(7200, func(t float64) float64 {
		return base + rate*every*math.Floor(t/every) + size*r.NormFloat64()
	})
}

// LeakUnderSawtooth is a sawtooth on top of a leak.
func LeakUnderSawtooth(r *rand.Rand) []float64 {
	saw := sawing(r)
	base, rate, size := between(r, 5, 40)*GiB, between(r, 15, 60)*MiB, between(r, 5, 50)*MiB
	return series(7200, func(t float64) float64 { return base + rate*t + saw(t) + size*r.NormFloat64() })
}

// leakAfterPlateau is a plateau of ten to fifty minutes, then a leak.
func leakAfterPlateau(r *rand.Rand) []float64 {
	base, rate, size := between(r, 20, 55)*GiB, between(r, 15, 60)*MiB, between(r, 5, 50)*MiB
	begins := between(r, 600, 3000)
	return series(9000, func(t float64) float64 { return base + rate*max(t-begins, 0) + size*r.NormFloat64() })
}
