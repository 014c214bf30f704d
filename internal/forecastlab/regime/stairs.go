package regime

import (
	"math"
	"math/rand/v2"
)

// cycle is where a time lies in a series of cycles, the first of which is number 0.
type cycle struct {
	number        int
	since, length float64 // seconds since it began, and until it ends
	drawn         float64 // 0…1, another number for each
}

// cycling divides time into cycles whose lengths vary by a share of the period.
func cycling(r *rand.Rand, period, uneven float64) func(t float64) cycle {
	began := 0.0
	next := func(number int) cycle {
		return cycle{number: number, length: period * between(r, 1-uneven, 1+uneven), drawn: r.Float64()}
	}
	now := next(0)
	return func(t float64) cycle {
		for t-began >= now.length {
			began += now.length
			now = next(now.number + 1)
		}
		now.since = t - began
		return now
	}
}

// logarithmic is drawn evenly from the logarithms between two numbers.
func logarithmic(r *rand.Rand, low, high float64) float64 {
	return math.Exp(between(r, math.Log(low), math.Log(high)))
}

// stairs is a leak in five to twenty steps that fill the GPU, one to ten minutes apart.
func stairs(r *rand.Rand) []float64 {
	base, size, steps := between(r, 5, 40)*GiB, trembling(r), between(r, 5, 20)
	at := cycling(r, logarithmic(r, 60, 600), between(r, 0, 0.15))
	height, uneven := (Capacity-base)/steps, between(r, 0, 0.2)
	return series(20_000, func(t float64) float64 {
		c := at(t)
		return base + height*(float64(c.number)+uneven*c.drawn) + size*r.NormFloat64()
	})
}

// epochLeak leaks once an epoch of five to twenty minutes. Some epochs end with an
// evaluation.
func epochLeak(r *rand.Rand) []float64 {
	base, size, epochs := between(r, 5, 40)*GiB, trembling(r), between(r, 4, 12)
	at := cycling(r, between(r, 300, 1200), between(r, 0, 0.1))
	height, uneven := (Capacity-base)/epochs, between(r, 0, 0.3)
	evaluation, lasts := max(between(r, -1, 1), 0)*height, between(r, 10, 90)
	return series(20_000, func(t float64) float64 {
		c := at(t)
		level := base + height*(float64(c.number)+uneven*c.drawn)
		if c.length-c.since < lasts {
			level += evaluation
		}
		return level + size*r.NormFloat64()
	})
}

// growingPeaks is a level with evaluations, each of which takes more than the one
// before, until one fills the GPU.
func growingPeaks(r *rand.Rand) []float64 {
	base, size, peaks := between(r, 5, 40)*GiB, trembling(r), between(r, 8, 25)
	at := cycling(r, logarithmic(r, 60, 400), between(r, 0, 0.1))
	first, lasts, rises := between(r, 0.1, 0.4)*(Capacity-base), between(r, 0.05, 0.4), between(r, 0, 10)
	grows, uneven := (Capacity-base-first)/peaks, between(r, 0, 0.6)
	return series(15_000, func(t float64) float64 {
		c := at(t)
		height := first + grows*(float64(c.number)+uneven*c.drawn)
		return base + height*climbs(c.since, (1-lasts)*c.length, min(rises, lasts*c.length/2)) + size*r.NormFloat64()
	})
}

// leakUnderLongSawtooth is a leak under a sawtooth of 200 to 900 seconds.
func leakUnderLongSawtooth(r *rand.Rand) []float64 {
	base, size, height, period := between(r, 5, 30)*GiB, trembling(r), between(r, 4, 16)*GiB, logarithmic(r, 200, 900)
	at, rate := cycling(r, period, between(r, 0, 0.15)), (Capacity-base-height)/(period*between(r, 6, 20))
	return series(20_000, func(t float64) float64 {
		c := at(t)
		return base + rate*t + height*c.since/c.length + size*r.NormFloat64()
	})
}

// rampOutOfPlateau is a plateau out of which a straight line leads to full within two to
// four minutes.
func rampOutOfPlateau(r *rand.Rand) []float64 {
	base, size, begins, lasts := between(r, 5, 65)*GiB, trembling(r), between(r, 300, 3600), between(r, 120, 240)
	rate := (Capacity - base) / lasts
	return series(int(begins+lasts)+60, func(t float64) float64 {
		return base + rate*max(t-begins, 0) + size*r.NormFloat64()
	})
}
