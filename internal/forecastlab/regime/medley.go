package regime

import (
	"math"
	"math/rand/v2"
)

// medley is the sum of two or three random layers that do not fill a GPU.
func medley(r *rand.Rand) []float64 {
	base, size, layers := between(r, 8, 30)*GiB, between(r, 2, 40)*MiB, layered(r)
	return series(7200, func(t float64) float64 { return base + layers(t) + size*r.NormFloat64() })
}

// leakUnderMedley is a medley with a leak below it, from the start or later.
func leakUnderMedley(r *rand.Rand) []float64 {
	base, size, layers := between(r, 5, 20)*GiB, between(r, 2, 40)*MiB, layered(r)
	rate, begins := between(r, 15, 60)*MiB, max(between(r, -1800, 1800), 0)
	return series(9000, func(t float64) float64 {
		return base + layers(t) + rate*max(t-begins, 0) + size*r.NormFloat64()
	})
}

// layered draws two or three layers, no kind twice.
func layered(r *rand.Rand) func(t float64) float64 {
	kinds := []func(*rand.Rand) func(float64) float64{sawing, alternating, stepping, warming, wandering}
	r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	var layers []func(float64) float64
	for _, begin := range kinds[:2+r.IntN(2)] {
		layers = append(layers, begin(r))
	}
	return func(t float64) float64 {
		sum := 0.0
		for _, layer := range layers {
			sum += layer(t)
		}
		return sum
	}
}

// alternating goes up and down by its size after phases of uneven length.
func alternating(r *rand.Rand) func(t float64) float64 {
	size := between(r, 1, 10) * GiB
	up := phases(r, between(r, 60, 400), 0.35, 0.65)
	return func(t float64) float64 {
		if up(t) {
			return size
		}
		return 0
	}
}

// phases alternates, true first; a phase lasts a random share of the period.
func phases(r *rand.Rand, period, shortest, longest float64) func(t float64) bool {
	until, up := 0.0, false
	return func(t float64) bool {
		if t >= until {
			up, until = !up, t+period*between(r, shortest, longest)
		}
		return up
	}
}

// stepping is constant between jumps.
func stepping(r *rand.Rand) func(t float64) float64 {
	most, every := between(r, 1, 10)*GiB, between(r, 200, 1500)
	level := most * r.Float64()
	return func(float64) float64 {
		if r.Float64() < 1/every {
			level = most * r.Float64()
		}
		return level
	}
}

// warming grows up to its size ever more slowly.
func warming(r *rand.Rand) func(t float64) float64 {
	size, fade := between(r, 2, 12)*GiB, between(r, 40, 600)
	return func(t float64) float64 { return size * saturation(t/fade) }
}

// wandering returns to its mean.
func wandering(r *rand.Rand) func(t float64) float64 { return wander(r, 0.1, 1) }

// wander returns to 0 within seconds or minutes; its size is in GiB.
func wander(r *rand.Rand, smallest, largest float64) func(t float64) float64 {
	size, keep := between(r, smallest, largest)*GiB, math.Exp(-1/between(r, 2, 120))
	off := size * r.NormFloat64()
	return func(float64) float64 {
		off = keep*off + math.Sqrt(1-keep*keep)*size*r.NormFloat64()
		return off
	}
}
