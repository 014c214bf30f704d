package regime

import (
	"fmt"
	"math/rand/v2"
)

// rampsLast are the seconds in which ramps out of a plateau fill the GPU.
var rampsLast = [...]float64{120, 170, 220}

// Ramps are the regimes of a plateau out of which a straight line leads to full.
func Ramps() []Regime {
	var all []Regime
	for _, lasts := range rampsLast {
		all = append(all, Regime{Name: fmt.Sprintf("ramp of %.0f s", lasts), Make: rampOutOfPlateau(lasts)})
	}
	return all
}

func rampOutOfPlateau(lasts float64) func(r *rand.Rand) []float64 {
	return func(r *rand.Rand) []float64 {
		base, size, begins := between(r, 5, 65)*GiB, trembling(r), between(r, 300, 3600)
		rate := (Capacity - base) / lasts
		return series(int(begins+lasts)+60, func(t float64) float64 {
			return base + rate*max(t-begins, 0) + size*r.NormFloat64()
		})
	}
}
