package regime

import (
	"math"
	"math/rand/v2"
)

// part returns one part of a process's memory, in bytes, at a time in seconds. The times of its
// calls ascend.
type part func(t float64) float64

// At, unless nil, is called before each sample of a series. If it returns false, the series ends.
var At func(i int) bool

// series samples the sum of parts n times, or until the GPU is full.
func series(n int, parts ...part) []float64 {
	y := make([]float64, 0, n)
	for t := range n {
		if At != nil && !At(t) {
			break
		}
		sum := 0.0
		for _, p := range parts {
			sum += p(float64(t))
		}
		v := min(max(sum, 0), Capacity)
		y = append(y, v)
		if v == Capacity {
			break
		}
	}
	return y
}

func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// logarithmic draws a number whose logarithm is uniform between those of low and high.
func logarithmic(r *rand.Rand, low, high float64) float64 {
	return math.Exp(between(r, math.Log(low), math.Log(high)))
}

// level returns a constant part.
func level(bytes float64) part { return func(float64) float64 { return bytes } }

// line returns a part that grows by rate bytes a second after a time.
func line(from, rate float64) part { return func(t float64) float64 { return rate * max(t-from, 0) } }

// noise returns Gaussian noise with the given standard deviation, in bytes.
func noise(r *rand.Rand, size float64) part {
	return func(float64) float64 { return size * r.NormFloat64() }
}

// tremble returns noise, often none at all.
func tremble(r *rand.Rand) part {
	return noise(r, max(math.Exp(between(r, math.Log(0.5), math.Log(60)))-3, 0)*MiB)
}

// saturation returns a part that grows ever more slowly.
func saturation(from, size, fade float64) part {
	return func(t float64) float64 { return -size * math.Expm1(-max(t-from, 0)/fade) }
}

// climbs returns how much of a rise is reached at t, from 0 to 1. The rise starts at from and lasts
// a number of seconds.
func climbs(t, from, lasts float64) float64 {
	if t < from {
		return 0
	}
	return min((t-from)/max(lasts, 1e-9), 1)
}

// sharded rounds a share down to a multiple of 1/shards; 0 shards: no rounding.
func sharded(share, shards float64) float64 {
	if shards == 0 {
		return share
	}
	return math.Floor(share*shards) / shards
}

// cycle is the place of a moment in a series of cycles, the first of which is number 0.
type cycle struct {
	number        int
	since, length float64 // seconds since the cycle began, and its whole length in seconds
	drawn         float64 // 0…1, drawn anew for each cycle
}

// left returns the seconds until the cycle ends.
func (c *cycle) left() float64 { return c.length - c.since }

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

// sawing returns a part that rises and falls back at once, in cycles of nearly the same length.
func sawing(r *rand.Rand, height, period, uneven float64) part {
	at := cycling(r, period, uneven)
	return func(t float64) float64 { c := at(t); return height * c.since / c.length }
}

// alternating returns a part that goes up and down, in phases that last a random share of the period.
func alternating(r *rand.Rand, height, period, shortest, longest float64) part {
	until, up := 0.0, false
	return func(t float64) float64 {
		if t >= until {
			up, until = !up, t+period*between(r, shortest, longest)
		}
		if up {
			return height
		}
		return 0
	}
}

// wandering returns autoregressive noise of order 1 with a standard deviation of size bytes.
func wandering(r *rand.Rand, size, keep float64) part {
	off := size * r.NormFloat64()
	return func(float64) float64 {
		off = keep*off + math.Sqrt(1-keep*keep)*size*r.NormFloat64()
		return off
	}
}

// The textures: movements on top of a level.
const (
	clean = iota
	sawtoothed
	trainAndEvaluate
	noisy
	inSteps // as clean, but growth comes in steps
)

// texture returns the movements of a texture, and their height in bytes.
func texture(r *rand.Rand, which int) (height float64, at part) {
	switch which {
	case sawtoothed:
		height = logarithmic(r, 0.3, 4) * GiB
		return height, sawing(r, height, logarithmic(r, 5, 30), 0.1)
	case trainAndEvaluate:
		height = logarithmic(r, 0.5, 5) * GiB
		return height, alternating(r, height, logarithmic(r, 16, 80), 0.3, 0.6)
	case noisy:
		size := logarithmic(r, 20, 400) * MiB
		return 3 * size, noise(r, size)
	default:
		return 0.2 * GiB, tremble(r)
	}
}
