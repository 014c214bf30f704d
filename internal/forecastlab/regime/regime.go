package regime

import "math/rand/v2"

// Sizes, in bytes.
const (
	GiB      = float64(1 << 30)
	MiB      = float64(1 << 20)
	Capacity = 80 * GiB
)

// Regime is one kind of series. Those that fill the GPU end there or restart.
type Regime struct {
	Name string
	Make func(r *rand.Rand) []float64 // bytes, one sample a second
}

// All is every regime: the plain ones first, then compositions.
func All() []Regime {
	return []Regime{
		{"steps", Steps}, {"alternation", Alternation}, {"noise", Noise}, {"mean reversion", MeanReversion},
		{"warm-up", WarmUp}, {"slow saturation", SlowSaturation}, {"sawtooth", Sawtooth},
		{"leak", Leak}, {"bursts", Bursts}, {"staircase", Staircase}, {"leak under a sawtooth", LeakUnderSawtooth},
		{"leak after a plateau", LeakAfterPlateau}, {"leak with restarts", LeakWithRestarts},
		{"warm-up, then leak", WarmUpThenLeak}, {"alternation over a leak", AlternationOverLeak},
		{"noise over steps", NoiseOverSteps}, {"sawtooth, then leak", SawtoothThenLeak}, {"leak that ends", LeakThatEnds},
		{"medley", Medley}, {"leak under a medley", LeakUnderMedley},
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
