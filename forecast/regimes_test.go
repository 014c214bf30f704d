package forecast

import (
	"math"
	"math/rand/v2"
)

const (
	gib      = float64(1 << 30)
	mib      = float64(1 << 20)
	capacity = 80 * gib
)

// A regime makes a series, one sample a second, of a kind that GPU memory is
// known for. It ends when the GPU is full.
type regime struct {
	name string
	make func(r *rand.Rand) []float64
}

func regimes() []regime {
	return []regime{
		{"steps", steps}, {"alternation", alternation}, {"noise", noise}, {"warm-up", warmUp}, {"sawtooth", sawtooth},
		{"leak", leak}, {"bursts", bursts}, {"staircase", staircase}, {"leak under a sawtooth", leakUnderSawtooth},
		{"leak after a plateau", leakAfterPlateau},
	}
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 42)) }

func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// series samples level until it is full or n seconds have gone.
func series(n int, level func(t float64) float64) []float64 {
	y := make([]float64, 0, n)
	for t := range n {
		v := min(max(level(float64(t)), 0), capacity)
		y = append(y, v)
		if v == capacity {
			break
		}
	}
	return y
}

func steps(r *rand.Rand) []float64 {
	level := between(r, 10, 50) * gib
	return series(3600, func(float64) float64 {
		if r.Float64() < 1.0/180 {
			level = between(r, 10, 60) * gib
		}
		return level
	})
}

func alternation(r *rand.Rand) []float64 {
	low, high := between(r, 10, 30)*gib, between(r, 35, 60)*gib
	period, until, up := between(r, 60, 400), 0.0, false
	return series(3600, func(t float64) float64 {
		if t >= until {
			up, until = !up, t+period*between(r, 0.3, 0.6)
		}
		if up {
			return high
		}
		return low
	})
}

func noise(r *rand.Rand) []float64 {
	mean, size, keep := between(r, 20, 70)*gib, between(r, 0.1, 1.5)*gib, between(r, 0, 0.9)
	off := 0.0
	return series(3600, func(float64) float64 {
		off = keep*off + math.Sqrt(1-keep*keep)*size*r.NormFloat64()
		return mean + off
	})
}

func warmUp(r *rand.Rand) []float64 {
	base, grows, fade, size := between(r, 2, 20)*gib, between(r, 10, 45)*gib, between(r, 40, 500), between(r, 2, 60)*mib
	return series(3600, func(t float64) float64 {
		return base + grows*(1-math.Exp(-t/fade)) + size*r.NormFloat64()
	})
}

func sawing(r *rand.Rand) func(t float64) float64 {
	size, period := between(r, 2, 8)*gib, between(r, 20, 200)
	began := 0.0
	length := period
	return func(t float64) float64 {
		if t-began >= length {
			began, length = t, period*between(r, 0.9, 1.1)
		}
		return size * (t - began) / length
	}
}

func sawtooth(r *rand.Rand) []float64 {
	tooth := sawing(r)
	base, size := between(r, 20, 71)*gib, between(r, 5, 50)*mib
	return series(3600, func(t float64) float64 { return base + tooth(t) + size*r.NormFloat64() })
}

func leak(r *rand.Rand) []float64 {
	base, rate, size := between(r, 5, 50)*gib, between(r, 15, 60)*mib, between(r, 5, 100)*mib
	return series(7200, func(t float64) float64 { return base + rate*t + size*r.NormFloat64() })
}

func bursts(r *rand.Rand) []float64 {
	base, rate, every := between(r, 5, 50)*gib, between(r, 15, 60)*mib, between(r, 3, 15)
	level := base
	return series(7200, func(float64) float64 {
		if r.Float64() < 1/every {
			level += rate * every * between(r, 0.5, 1.5)
		}
		return level
	})
}

func staircase(r *rand.Rand) []float64 {
	base, rate, every := between(r, 5, 40)*gib, between(r, 15, 60)*mib, math.Round(between(r, 10, 60))
	size := between(r, 1, 20) * mib
	return series(7200, func(t float64) float64 {
		return base + rate*every*math.Floor(t/every) + size*r.NormFloat64()
	})
}

func leakUnderSawtooth(r *rand.Rand) []float64 {
	tooth := sawing(r)
	base, rate, size := between(r, 5, 40)*gib, between(r, 15, 60)*mib, between(r, 5, 50)*mib
	return series(7200, func(t float64) float64 { return base + rate*t + tooth(t) + size*r.NormFloat64() })
}

func leakAfterPlateau(r *rand.Rand) []float64 {
	base, rate, size := between(r, 20, 55)*gib, between(r, 15, 60)*mib, between(r, 5, 50)*mib
	begins := between(r, 600, 3000)
	return series(9000, func(t float64) float64 { return base + rate*max(t-begins, 0) + size*r.NormFloat64() })
}
