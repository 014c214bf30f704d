package forecast

import (
	"slices"
	"strings"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

// Each part has a name, and leaving it out changes some forecast.
func TestEachPartMatters(t *testing.T) {
	var series [][]float64
	for _, g := range slices.Concat(regime.Plain(), regime.Growth()) {
		series = append(series, g.Make(regime.Seeded(21)))
	}
	for _, part := range Parts() {
		if strings.HasPrefix(part.String(), "part ") {
			t.Errorf("%v has no name", part)
		}
		if !slices.ContainsFunc(series, func(y []float64) bool { return differs(y, part) }) {
			t.Errorf("without %v all forecasts are the same", part)
		}
	}
}

func differs(y []float64, part Part) bool {
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
