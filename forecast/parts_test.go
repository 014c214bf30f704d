package forecast

import (
	"slices"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

// Leaving any part out changes some forecast.
func TestEachPartMatters(t *testing.T) {
	var series [][]float64
	for _, g := range slices.Concat(regime.Plain(), regime.Growth()) {
		series = append(series, g.Make(regime.Seeded(21)))
	}
	for part := range Parts {
		if !slices.ContainsFunc(series, func(y []float64) bool { return differs(y, part) }) {
			t.Errorf("without part %d all forecasts are the same", part)
		}
	}
}

func differs(y []float64, part int) bool {
	with, without := New(), Without(part)
	for i, v := range y {
		with.Observe(after(float64(i)), int64(v))
		without.Observe(after(float64(i)), int64(v))
		a, _ := with.FullIn(30 << 30)
		b, _ := without.FullIn(30 << 30)
		if a != b || !slices.Equal(with.Forecasts(nil), without.Forecasts(nil)) {
			return true
		}
	}
	return false
}
