package regime

import (
	"math"
	"math/rand/v2"
)

// Scene is one process as the monitor meets it. Its memory stays where it ends for
// a while after what happens.
type Scene struct {
	Bytes []float64
	Step  float64 // seconds between samples
	Age   float64 // of the process at the first sample, seconds; a Step: the monitor saw it start
	Ramp  float64 // when a ramp that fills the GPU begins, in seconds; 0: none does
}

// SceneSteps are the times between samples for which scenes are made, in seconds.
func SceneSteps() []float64 { return []float64{0.5, 1, 2, 5} }

// RampAges are the ages of processes whose memory begins to grow, in seconds.
func RampAges() []float64 { return []float64{180, 600, 7200} }

// FastRamp is memory that is flat and then fills the GPU within one to seven
// minutes along a straight line. The process is so old when that begins, give or
// take a quarter; the monitor saw a young one start and load.
func FastRamp(r *rand.Rand, step, age float64) Scene {
	base, lasts, size := between(r, 5, 65)*GiB, between(r, 60, 420), trembling(r)
	age *= between(r, 0.9, 1.25)
	loads, watched, old := between(r, 0, 0.1)*age, age, step
	if age > 1800 {
		watched = between(r, 120, 3600)
		loads, old = 0, age-watched
	}
	rate := (Capacity - base) / lasts
	return scene(r, step, watched+lasts+60, old, watched, size, func(t float64) float64 {
		return base*climbs(t, 0, loads) + rate*max(t-watched, 0)
	})
}

// Load is a process that reads its weights at an even pace or in shards, and then
// stays at its level.
func Load(r *rand.Rand, step float64) Scene {
	level, lasts, size := between(r, 0.1, 0.95)*Capacity, math.Exp(between(r, math.Log(5), math.Log(300))), trembling(r)
	waits, shards := between(r, 0, 20), math.Round(between(r, 1, 24))
	if r.Float64() < 0.5 {
		shards = 0
	}
	return scene(r, step, waits+lasts+900, step, 0, size, func(t float64) float64 {
		return 0.5*GiB + (level-0.5*GiB)*sharded(climbs(t, waits, lasts), shards)
	})
}

// LoadPlateauLoad is a server that reads its weights, prepares, and then takes its
// KV cache, nearly all of what is left.
func LoadPlateauLoad(r *rand.Rand, step float64) Scene {
	weights, cache, size := between(r, 0.1, 0.6)*Capacity, between(r, 0.75, 0.97)*Capacity, trembling(r)
	lasts, prepares, takes := math.Exp(between(r, math.Log(5), math.Log(180))), between(r, 10, 180), math.Exp(between(r, math.Log(0.5), math.Log(20)))
	return scene(r, step, lasts+prepares+takes+900, step, 0, size, func(t float64) float64 {
		return 0.5*GiB + (weights-0.5*GiB)*climbs(t, 0, lasts) + (cache-weights)*climbs(t, lasts+prepares, takes)
	})
}

// trembling is the noise of memory that is called flat, often none.
func trembling(r *rand.Rand) float64 {
	return max(math.Exp(between(r, math.Log(0.5), math.Log(60)))-3, 0) * MiB
}

// climbs is the share of a rise from a time on that lasts so many seconds.
func climbs(t, from, lasts float64) float64 {
	if t < from {
		return 0
	}
	return min((t-from)/max(lasts, 1e-9), 1)
}

// sharded is a share that is reached in so many steps; 0: evenly.
func sharded(share, shards float64) float64 {
	if shards == 0 {
		return share
	}
	return math.Floor(share*shards) / shards
}

// scene samples a level for so many seconds.
func scene(r *rand.Rand, step, seconds, age, ramp, size float64, level func(t float64) float64) Scene {
	s := Scene{Step: step, Age: age, Ramp: ramp}
	for t := 0.0; t < seconds; t += step {
		v := level(t) + size*r.NormFloat64()
		if level(t) >= Capacity {
			v = Capacity
		}
		s.Bytes = append(s.Bytes, min(max(v, 0), Capacity))
	}
	return s
}
