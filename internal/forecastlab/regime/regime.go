package regime

import (
	"cmp"
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

// Family is regimes that move alike.
type Family struct {
	Name    string
	Regimes []Regime
}

// Families are all regimes.
func Families() []Family {
	const fills = true
	return []Family{
		{"steps", []Regime{{Name: "steps", Make: steps}, {Name: "alternation", Make: alternation}, {Name: "noise over steps", Make: noiseOverSteps}}},
		{"noise", []Regime{{Name: "noise", Make: Noise}, {Name: "mean reversion", Make: MeanReversion}, {Name: "bounded walk", Make: BoundedWalk}}},
		{"slow change", []Regime{{Name: "warm-up", Make: warmUp}, {Name: "slow saturation", Make: slowSaturation}, {Name: "sine of a day", Make: DaySine, Step: DaySineStep}}},
		{"sawtooth", []Regime{{Name: "sawtooth", Make: Sawtooth}, {Name: "long first epoch", Make: LongFirstEpoch}, {Name: "medley", Make: medley}}},
		{"as recorded", []Regime{{Name: "served", Make: served}, {Name: "notebook", Make: notebook}, {Name: "shared GPU", Make: sharedGPU}, {Name: "trained", Make: trained}}},
		{"leak", []Regime{
			{"leak", fills, Leak, 0}, {"leak after a plateau", fills, leakAfterPlateau, 0}, {"warm-up, then leak", fills, warmUpThenLeak, 0},
			{"leak with restarts", fills, leakWithRestarts, 0}, {"leak that ends", !fills, leakThatEnds, 0}, {"ramp", fills, rampOutOfPlateau, 0},
		}},
		{"leak under a texture", []Regime{
			{"leak under a sawtooth", fills, LeakUnderSawtooth, 0}, {"alternation over a leak", fills, alternationOverLeak, 0}, {"sawtooth, then leak", fills, sawtoothThenLeak, 0},
			{"leak under a medley", fills, leakUnderMedley, 0}, {"leak under a long sawtooth", fills, leakUnderLongSawtooth, 0},
		}},
		{"stairs", []Regime{
			{"staircase", fills, staircase, 0}, {"bursts", fills, bursts, 0}, {"stairs of 1 to 10 min", fills, stairs, 0},
			{"leak of an epoch", fills, epochLeak, 0}, {"growing peaks", fills, growingPeaks, 0},
		}},
	}
}

// All is the regimes of all families.
func All() []Regime {
	var all []Regime
	for _, f := range Families() {
		all = append(all, f.Regimes...)
	}
	return all
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
