package regime

import (
	"math"
	"math/rand/v2"
	"slices"
)

// steps returns a series that is constant between jumps, with noise or without.
func steps(r *rand.Rand) []float64 {
	now, every := between(r, 10, 50)*GiB, between(r, 180, 1200)
	return series(7200, noise(r, max(between(r, -0.4, 0.6), 0)*GiB), func(float64) float64 {
		if r.Float64() < 1/every {
			now = between(r, 10, 65) * GiB
		}
		return now
	})
}

// Noise returns a series that wanders around a mean. It returns to the mean within 0.3 to 120 seconds.
func Noise(r *rand.Rand) []float64 {
	return series(5400, level(between(r, 20, 65)*GiB), wandering(r, between(r, 0.1, 2)*GiB, math.Exp(-1/logarithmic(r, 0.3, 120))))
}

// BoundedWalk returns a random walk between two levels that crosses from one to the other
// in ten minutes to three hours.
func BoundedWalk(r *rand.Rand) []float64 {
	low, height := between(r, 5, 40)*GiB, between(r, 1, 35)*GiB
	step, every := height/math.Sqrt(logarithmic(r, 600, 10_800)), logarithmic(r, 1, 30)
	now := height * r.Float64()
	return series(10_800, level(low), func(float64) float64 {
		if r.Float64() < 1/every {
			now = math.Mod(math.Abs(now+step*math.Sqrt(every)*r.NormFloat64()), 2*height)
			now = min(now, 2*height-now) // reflected
		}
		return now
	})
}

// warmUp returns a series that grows ever more slowly up to a level, within minutes or an hour.
func warmUp(r *rand.Rand) []float64 {
	base := between(r, 2, 30)
	return series(7200, level(base*GiB), saturation(0, between(r, 10, 0.9*(80-base))*GiB, logarithmic(r, 40, 1800)), noise(r, between(r, 2, 80)*MiB))
}

// DaySineStep is the seconds between the samples of a sine of a day.
const DaySineStep = 5

// DaySine returns a series that goes up and down once a day.
func DaySine(r *rand.Rand) []float64 {
	const day = 86_400
	height, begins := between(r, 1, 18)*GiB, between(r, 0, day)
	return series(day/DaySineStep, level(between(r, 20, 55)*GiB), tremble(r), func(i float64) float64 {
		return height * math.Sin(2*math.Pi*(begins+DaySineStep*i)/day)
	})
}

// Sawtooth returns a series that rises and falls back, in cycles of nearly the same length.
func Sawtooth(r *rand.Rand) []float64 {
	return series(3600, level(between(r, 20, 71)*GiB), sawing(r, between(r, 2, 8)*GiB, between(r, 20, 200), 0.1), noise(r, between(r, 5, 50)*MiB))
}

// LongFirstEpoch returns a sawtooth whose first cycle looks like a leak: it lasts for eight minutes
// to an hour, up to three times as long as the others.
func LongFirstEpoch(r *rand.Rand) []float64 {
	height, first, bent := between(r, 2, 30)*GiB, logarithmic(r, 480, 3600), between(r, 0.7, 1.2)
	later := sawing(r, 1, first/between(r, 1, 3), between(r, 0, 0.1))
	return series(int(2.5*first)+1800, level(between(r, 5, 45)*GiB), tremble(r), func(t float64) float64 {
		share := t / first
		if t >= first {
			share = later(t - first)
		}
		return height * math.Pow(share, bent)
	})
}

// page is the least that drivers allocate.
const page = 2 * MiB

// recorded returns a series that resembles recordings: often short, and constant nearly all the time,
// with steps of whole pages whose sizes and distances cover orders of magnitude.
func recorded(r *rand.Rand, p part) []float64 {
	return series(int(logarithmic(r, 120, 3600)), func(t float64) float64 {
		return page * math.Round(min(p(t), 0.98*Capacity)/page)
	})
}

// pauses returns a function that returns true at the end of a pause. The lengths are drawn from
// Pareto's distribution, from shortest to 3,600 seconds.
func pauses(r *rand.Rand, shortest float64) func(t float64) bool {
	next := 0.0
	return func(t float64) bool {
		if t < next {
			return false
		}
		next = t + min(shortest*math.Pow(1-r.Float64(), -1/1.1), 3600)
		return true
	}
}

// served returns a server whose cache grows to the size of the largest request so far, and is seldom emptied.
func served(r *rand.Rand) []float64 {
	base, largest := between(r, 2, 50)*GiB, between(r, 1, 25)*GiB
	comes, trims := pauses(r, logarithmic(r, 2, 60)), between(r, 0, 0.02)
	cache := 0.0
	return recorded(r, func(t float64) float64 {
		if comes(t) {
			cache = max(cache, logarithmic(r, page, largest))
			if r.Float64() < trims {
				cache = 0
			}
		}
		return base + cache
	})
}

// notebook returns a series that grows as cells are run, and at times loses the memory of the last cell.
func notebook(r *rand.Rand) []float64 {
	runs, largest := pauses(r, logarithmic(r, 5, 120)), between(r, 0.2, 12)*GiB
	kept := []float64{between(r, 0.3, 10) * GiB}
	return recorded(r, func(t float64) float64 {
		if runs(t) {
			if i := len(kept) - 1; i > 0 && r.Float64() < 0.45 {
				kept = slices.Delete(kept, i, i+1)
			} else {
				kept = append(kept, logarithmic(r, page, largest))
			}
		}
		sum := 0.0
		for _, v := range kept {
			sum += v
		}
		return sum
	})
}

// Leak returns a series that grows at a rate until the GPU is full.
func Leak(r *rand.Rand) []float64 {
	return series(7200, level(between(r, 5, 50)*GiB), line(0, between(r, 15, 60)*MiB), noise(r, between(r, 5, 100)*MiB))
}

// leakAfterPlateau returns a plateau of ten to fifty minutes, then a leak.
func leakAfterPlateau(r *rand.Rand) []float64 {
	return series(9000, level(between(r, 20, 55)*GiB), line(between(r, 600, 3000), between(r, 15, 60)*MiB), noise(r, between(r, 5, 50)*MiB))
}

// LeakUnderSawtooth returns a sawtooth on top of a leak.
func LeakUnderSawtooth(r *rand.Rand) []float64 {
	saw := sawing(r, between(r, 2, 8)*GiB, between(r, 20, 200), 0.1)
	return series(7200, level(between(r, 5, 40)*GiB), line(0, between(r, 15, 60)*MiB), saw, noise(r, between(r, 5, 50)*MiB))
}

// leakUnderLongSawtooth returns a leak under a sawtooth of 200 to 900 seconds.
func leakUnderLongSawtooth(r *rand.Rand) []float64 {
	base, height, period := between(r, 5, 30)*GiB, between(r, 4, 16)*GiB, logarithmic(r, 200, 900)
	rate := (Capacity - base - height) / (period * between(r, 6, 20))
	return series(20_000, level(base), line(0, rate), sawing(r, height, period, between(r, 0, 0.15)), tremble(r))
}

// alternationOverLeak returns a series that goes back and forth between two levels that leak.
func alternationOverLeak(r *rand.Rand) []float64 {
	up := alternating(r, between(r, 4, 12)*GiB, between(r, 60, 240), 0.4, 0.6)
	return series(7200, level(between(r, 5, 25)*GiB), line(0, between(r, 10, 40)*MiB), up)
}

// staircase returns a leak in even steps, at most a minute apart.
func staircase(r *rand.Rand) []float64 {
	rate, every := between(r, 15, 60)*MiB, math.Round(between(r, 10, 60))
	return series(7200, level(between(r, 5, 40)*GiB), noise(r, between(r, 1, 20)*MiB), func(t float64) float64 {
		return rate * every * math.Floor(t/every)
	})
}

// stairs returns a leak in five to twenty steps that fill the GPU, one to ten minutes apart.
// In half of the series each step ends with an evaluation.
func stairs(r *rand.Rand) []float64 {
	base, at, uneven := between(r, 5, 40)*GiB, cycling(r, logarithmic(r, 60, 600), between(r, 0, 0.15)), between(r, 0, 0.3)
	height := (Capacity - base) / between(r, 5, 20)
	evaluation, lasts := max(between(r, -1, 1), 0)*height, between(r, 10, 40)
	return series(20_000, level(base), tremble(r), func(t float64) float64 {
		c := at(t)
		v := height * (float64(c.number) + uneven*c.drawn)
		if c.left() < lasts {
			v += evaluation
		}
		return v
	})
}

// bursts returns a leak in bursts at random moments.
func bursts(r *rand.Rand) []float64 {
	rate, every, sum := between(r, 15, 60)*MiB, between(r, 3, 15), 0.0
	return series(7200, level(between(r, 5, 50)*GiB), func(float64) float64 {
		if r.Float64() < 1/every {
			sum += rate * every * between(r, 0.5, 1.5)
		}
		return sum
	})
}

// growingPeaks returns a level with evaluations. Each evaluation takes more memory than the previous
// one, until one fills the GPU.
func growingPeaks(r *rand.Rand) []float64 {
	base, peaks, at := between(r, 5, 40)*GiB, between(r, 8, 25), cycling(r, logarithmic(r, 60, 400), between(r, 0, 0.1))
	first, lasts, rises := between(r, 0.1, 0.4)*(Capacity-base), between(r, 0.05, 0.4), between(r, 0, 10)
	grows, uneven := (Capacity-base-first)/peaks, between(r, 0, 0.6)
	return series(15_000, level(base), tremble(r), func(t float64) float64 {
		c := at(t)
		height := first + grows*(float64(c.number)+uneven*c.drawn)
		return height * climbs(c.since, (1-lasts)*c.length, min(rises, lasts*c.length/2))
	})
}

// RampTextures name the textures on the ramps of TexturedRamp.
var RampTextures = [...]string{clean: "clean", sawtoothed: "sawtooth", trainAndEvaluate: "train and evaluate", noisy: "noise", inSteps: "steps"}

// TexturedRamp returns a level, from which a straight line fills the GPU within 1.5 to ten minutes,
// and the second at which the line begins.
func TexturedRamp(r *rand.Rand, which int) (y []float64, begins float64) {
	base, lasts, begins := between(r, 5, 55)*GiB, logarithmic(r, 90, 600), logarithmic(r, 300, 2400)
	height, moves := texture(r, which)
	rise := line(0, (Capacity-base-height)/lasts)
	every := 1.0
	if which == inSteps {
		every = math.Round(between(r, 4, 8))
	}
	return series(int(begins+lasts)+300, level(base), moves, func(t float64) float64 {
		return rise(every * math.Floor((t-begins)/every))
	}), begins
}

// LateLeak returns a level with a texture that becomes a leak, which fills the GPU in twenty
// minutes to four hours, and the second at which the leak begins.
func LateLeak(r *rand.Rand) (y []float64, begins float64) {
	base, lasts, begins := between(r, 5, 50)*GiB, logarithmic(r, 1200, 14_400), logarithmic(r, 600, 7200)
	height, moves := texture(r, r.IntN(inSteps))
	return series(int(begins+lasts)+300, level(base), moves, line(begins, (Capacity-base-height)/lasts)), begins
}

// Saturating returns a series that never fills the GPU: after a while at a level, a cache grows
// ever more slowly.
func Saturating(r *rand.Rand) []float64 {
	base, top, fade, begins := between(r, 5, 30)*GiB, between(r, 35, 68)*GiB, logarithmic(r, 60, 900), logarithmic(r, 120, 1800)
	return series(int(begins+6*fade)+600, level(base), saturation(begins, top-base, fade), tremble(r))
}

// LateLoads returns a process that idles, loads weights, and frees them at times.
func LateLoads(r *rand.Rand) []float64 { return series(7200, idleNotebook(r).level) }
