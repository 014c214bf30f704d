package regime

import (
	"math"
	"math/rand/v2"
)

// LongFirstEpoch is a sawtooth whose first cycle lasts for eight minutes to an hour,
// up to three times as long as the others. Until it ends it looks like a leak.
func LongFirstEpoch(r *rand.Rand) []float64 {
	base, size, height := between(r, 5, 45)*GiB, trembling(r), between(r, 2, 30)*GiB
	first, bent := logarithmic(r, 480, 3600), between(r, 0.7, 1.2)
	at := cycling(r, first/between(r, 1, 3), between(r, 0, 0.1))
	return series(int(2.5*first)+1800, func(t float64) float64 {
		share := t / first
		if t >= first {
			c := at(t - first)
			share = c.since / c.length
		}
		return base + height*math.Pow(share, bent) + size*r.NormFloat64()
	})
}

// BoundedWalk is a random walk between two levels that crosses from one to the other
// in ten minutes to three hours.
func BoundedWalk(r *rand.Rand) []float64 {
	low := between(r, 5, 40) * GiB
	height := between(r, 1, 35) * GiB
	step, every := height/math.Sqrt(logarithmic(r, 600, 10_800)), logarithmic(r, 1, 30)
	level := height * r.Float64()
	return series(10_800, func(float64) float64 {
		if r.Float64() < 1/every {
			level += step * math.Sqrt(every) * r.NormFloat64()
			level = reflected(level, height)
		}
		return low + level
	})
}

// reflected is a level reflected at 0 and at a height until it lies between them.
func reflected(level, height float64) float64 {
	level = math.Mod(math.Abs(level), 2*height)
	return min(level, 2*height-level)
}

// DaySineStep is the seconds between the samples of a sine of a day.
const DaySineStep = 5

// DaySine goes up and down once a day.
func DaySine(r *rand.Rand) []float64 {
	const day = 86_400
	height, size, begins := between(r, 1, 18)*GiB, trembling(r), between(r, 0, day)
	mean := between(r, 20, 55) * GiB
	return series(day/DaySineStep, func(i float64) float64 {
		return mean + height*math.Sin(2*math.Pi*(begins+DaySineStep*i)/day) + size*r.NormFloat64()
	})
}
