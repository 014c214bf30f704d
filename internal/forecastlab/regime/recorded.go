package regime

import (
	"math"
	"math/rand/v2"
	"slices"
)

// The regimes of this file move as memory does in recordings of one sample a second:
// constant nearly all the time, with steps of whole pages whose sizes and distances
// cover orders of magnitude. Many of them are short.

// page is what drivers allocate at least.
const page = 2 * MiB

// recorded is two minutes to an hour of a level.
func recorded(r *rand.Rand, level func(t float64) float64) []float64 {
	return series(int(logarithmic(r, 120, 3600)), func(t float64) float64 {
		return page * math.Round(min(level(t), 0.98*Capacity)/page)
	})
}

// pauses is true where a pause ends. Their lengths have a heavy tail.
func pauses(r *rand.Rand, shortest float64) func(t float64) bool {
	next := 0.0
	draw := func() float64 { return min(shortest*math.Pow(1-r.Float64(), -1/1.1), 3600) } // Pareto's
	return func(t float64) bool {
		if t < next {
			return false
		}
		next = t + draw()
		return true
	}
}

// served is a server whose cache grows to what the largest request so far needed.
func served(r *rand.Rand) []float64 {
	level, most := between(r, 2, 50)*GiB, between(r, 1, 25)*GiB
	comes, trims := pauses(r, logarithmic(r, 2, 60)), between(r, 0, 0.02)
	cache := 0.0
	return recorded(r, func(t float64) float64 {
		if comes(t) {
			cache = max(cache, logarithmic(r, page, most))
			if r.Float64() < trims {
				cache = 0
			}
		}
		return level + cache
	})
}

// notebook allocates as cells are run, and at times frees what one took.
func notebook(r *rand.Rand) []float64 {
	runs, most := pauses(r, logarithmic(r, 5, 120)), between(r, 0.2, 12)*GiB
	kept := []float64{between(r, 0.3, 10) * GiB}
	return recorded(r, func(t float64) float64 {
		if runs(t) {
			if i := len(kept) - 1; i > 0 && r.Float64() < 0.45 {
				kept = slices.Delete(kept, i, i+1)
			} else {
				kept = append(kept, logarithmic(r, page, most))
			}
		}
		sum := 0.0
		for _, v := range kept {
			sum += v
		}
		return sum
	})
}

// sharedGPU is several jobs that come, load for some seconds, stay and go.
func sharedGPU(r *rand.Rand) []float64 {
	type job struct{ began, loads, ends, level float64 }
	comes, most, stays := pauses(r, logarithmic(r, 15, 300)), between(r, 1, 25)*GiB, logarithmic(r, 30, 1200)
	base := between(r, 0.5, 10) * GiB
	var jobs []job
	return recorded(r, func(t float64) float64 {
		if comes(t) {
			jobs = append(jobs, job{t, between(r, 0, 15), t + stays*r.ExpFloat64(), logarithmic(r, 0.2*GiB, most)})
		}
		jobs = slices.DeleteFunc(jobs, func(j job) bool { return t >= j.ends })
		sum := base
		for _, j := range jobs {
			sum += j.level * climbs(t, j.began, j.loads)
		}
		return sum
	})
}

// trained is a training job: a load, steps that leave the total as it is but for a
// few percent of the samples, and evaluations.
func trained(r *rand.Rand) []float64 {
	level, loads, moves := between(r, 4, 60)*GiB, between(r, 2, 40), between(r, 0.001, 0.1)
	size, grows := logarithmic(r, page, GiB), between(r, 0, 1)*GiB
	at, takes, lasts := cycling(r, logarithmic(r, 60, 900), 0.05), max(between(r, -4, 8), 0)*GiB, between(r, 5, 60)
	return recorded(r, func(t float64) float64 {
		c := at(t)
		v := level*climbs(t, 0, loads) + grows*min(float64(c.number), 1)
		if c.length-c.since < lasts {
			v += takes
		}
		if r.Float64() < moves {
			v += size * r.NormFloat64()
		}
		return v
	})
}
