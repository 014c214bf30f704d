package regime

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Sizes, in bytes.
const (
	GiB      = float64(1 << 30)
	MiB      = float64(1 << 20)
	Capacity = 80 * GiB
)

// Regime is one kind of series. Those that fill the GPU end there or restart.
type Regime struct {
	Name string
	Make func(r *rand.Rand) []float64 // bytes
	Step float64                      // seconds between samples; 0: one
}

// Every is the seconds between samples.
func (g *Regime) Every() float64 { return cmp.Or(g.Step, 1) }

// All is every regime.
func All() []Regime { return slices.Concat(Plain(), Ramps(), Growth(), FalseLeaks(), Recorded()) }

// Plain are the regimes that the forecaster was first tuned on, and compositions.
func Plain() []Regime {
	return []Regime{
		{Name: "steps", Make: Steps}, {Name: "alternation", Make: Alternation},
		{Name: "noise", Make: Noise}, {Name: "mean reversion", Make: MeanReversion},
		{Name: "warm-up", Make: WarmUp}, {Name: "slow saturation", Make: SlowSaturation}, {Name: "sawtooth", Make: Sawtooth},
		{Name: "leak", Make: Leak}, {Name: "bursts", Make: Bursts}, {Name: "staircase", Make: Staircase},
		{Name: "leak under a sawtooth", Make: LeakUnderSawtooth},
		{Name: "leak after a plateau", Make: LeakAfterPlateau}, {Name: "leak with restarts", Make: LeakWithRestarts},
		{Name: "warm-up, then leak", Make: WarmUpThenLeak}, {Name: "alternation over a leak", Make: AlternationOverLeak},
		{Name: "noise over steps", Make: NoiseOverSteps}, {Name: "sawtooth, then leak", Make: SawtoothThenLeak},
		{Name: "leak that ends", Make: LeakThatEnds},
		{Name: "medley", Make: Medley}, {Name: "leak under a medley", Make: LeakUnderMedley},
	}
}

// Growth are the regimes that fill the GPU in steps, peaks and long cycles.
func Growth() []Regime {
	return []Regime{
		{Name: "stairs of 1 to 10 min", Make: Stairs}, {Name: "stairs of 10 min", Make: LongStairs},
		{Name: "leak of an epoch", Make: EpochLeak}, {Name: "growing peaks", Make: GrowingPeaks},
		{Name: "leak under a long sawtooth", Make: LeakUnderLongSawtooth},
	}
}

// FalseLeaks are the regimes that are no leak, though for long they look like one.
func FalseLeaks() []Regime {
	return []Regime{
		{Name: "long first epoch", Make: LongFirstEpoch}, {Name: "bounded walk", Make: BoundedWalk},
		{Name: "sine of a day", Make: DaySine, Step: daySineStep},
	}
}

// Recorded are the regimes that move as memory does in recordings.
func Recorded() []Regime {
	return []Regime{
		{Name: "served", Make: Served}, {Name: "notebook", Make: Notebook},
		{Name: "shared GPU", Make: SharedGPU}, {Name: "trained", Make: Trained},
	}
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
