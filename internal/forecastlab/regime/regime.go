package regime

import (
	"cmp"
	"fmt"
	"math/rand/v2"
)

// Sizes, in bytes.
const (
	GiB      = float64(1 << 30)
	MiB      = float64(1 << 20)
	Capacity = 80 * GiB
)

// Regime is one kind of series. Those that fill the GPU end there or restart.
type Regime struct {
	Name  string
	Fills bool                         // the GPU
	Make  func(r *rand.Rand) []float64 // bytes
	Step  float64                      // seconds between samples; 0: one
}

// Every is the seconds between samples.
func (g *Regime) Every() float64 { return cmp.Or(g.Step, 1) }

// All is every regime.
func All() []Regime {
	harmless := []Regime{
		{Name: "steps", Make: steps}, {Name: "alternation", Make: alternation}, {Name: "noise", Make: Noise},
		{Name: "mean reversion", Make: MeanReversion}, {Name: "warm-up", Make: warmUp},
		{Name: "slow saturation", Make: slowSaturation}, {Name: "sawtooth", Make: Sawtooth},
		{Name: "noise over steps", Make: noiseOverSteps}, {Name: "leak that ends", Make: leakThatEnds},
		{Name: "medley", Make: medley}, {Name: "long first epoch", Make: longFirstEpoch},
		{Name: "bounded walk", Make: boundedWalk}, {Name: "sine of a day", Make: daySine, Step: daySineStep},
		{Name: "served", Make: served}, {Name: "notebook", Make: notebook},
		{Name: "shared GPU", Make: sharedGPU}, {Name: "trained", Make: trained},
	}
	filling := []Regime{
		{Name: "leak", Make: Leak}, {Name: "bursts", Make: bursts}, {Name: "staircase", Make: staircase},
		{Name: "leak under a sawtooth", Make: LeakUnderSawtooth}, {Name: "leak after a plateau", Make: leakAfterPlateau},
		{Name: "leak with restarts", Make: leakWithRestarts}, {Name: "warm-up, then leak", Make: warmUpThenLeak},
		{Name: "alternation over a leak", Make: alternationOverLeak}, {Name: "sawtooth, then leak", Make: sawtoothThenLeak},
		{Name: "leak under a medley", Make: leakUnderMedley},
		{Name: "stairs of 1 to 10 min", Make: stairs}, {Name: "stairs of 10 min", Make: longStairs},
		{Name: "leak of an epoch", Make: epochLeak}, {Name: "growing peaks", Make: growingPeaks},
		{Name: "leak under a long sawtooth", Make: leakUnderLongSawtooth},
	}
	for _, lasts := range rampsLast {
		filling = append(filling, Regime{Name: fmt.Sprintf("ramp of %.0f s", lasts), Make: rampOutOfPlateau(lasts)})
	}
	for i := range filling {
		filling[i].Fills = true
	}
	return append(harmless, filling...)
}

// Seeded is the randomness of one series.
func Seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 42)) }

func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// series samples level until it is full or n seconds have gone.
func series(n int, level func(t float64) float64) []float64 {
	y := make([]float64, 0, n)
	for t := range n {
		v := min(max(level(float64(t)), 0), Capacity)
		y = append(y, v)
		if v == Capacity {
			break
		}
	}
	return y
}
