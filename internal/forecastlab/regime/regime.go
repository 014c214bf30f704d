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

// Regime is one kind of series. A series that fills the GPU ends there.
type Regime struct {
	Name  string
	Fills bool                         // the series fills the GPU
	Make  func(r *rand.Rand) []float64 // bytes
	Step  float64                      // seconds between samples; 0: one second
}

// Every returns the seconds between samples.
func (g *Regime) Every() float64 { return cmp.Or(g.Step, 1) }

// Family is regimes that move alike.
type Family struct {
	Name    string
	Regimes []Regime
}

// Families returns all regimes.
func Families() []Family {
	const fills = true
	return []Family{
		{"steps", []Regime{{Name: "steps", Make: steps}}},
		{"noise", []Regime{{Name: "noise", Make: Noise}, {Name: "bounded walk", Make: BoundedWalk}}},
		{"slow change", []Regime{{Name: "warm-up", Make: warmUp}, {Name: "sine of a day", Make: DaySine, Step: DaySineStep}}},
		{"sawtooth", []Regime{{Name: "sawtooth", Make: Sawtooth}, {Name: "long first epoch", Make: LongFirstEpoch}}},
		{"as recorded", []Regime{{Name: "served", Make: served}, {Name: "notebook", Make: notebook}}},
		{"leak", []Regime{{"leak", fills, Leak, 0}, {"leak after a plateau", fills, leakAfterPlateau, 0}}},
		{"leak under a texture", []Regime{
			{"leak under a sawtooth", fills, LeakUnderSawtooth, 0}, {"leak under a long sawtooth", fills, leakUnderLongSawtooth, 0},
			{"alternation over a leak", fills, alternationOverLeak, 0},
		}},
		{"stairs", []Regime{
			{"staircase", fills, staircase, 0}, {"stairs of 1 to 10 min", fills, stairs, 0},
			{"bursts", fills, bursts, 0}, {"growing peaks", fills, growingPeaks, 0},
		}},
	}
}

// All returns the regimes of all families.
func All() []Regime {
	var all []Regime
	for _, f := range Families() {
		all = append(all, f.Regimes...)
	}
	return all
}

// Seeded returns the randomness of one series.
func Seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 42)) }
