package forecast

import (
	"math"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

func TestResidualsSkipNeighbours(t *testing.T) {
	var kept residuals
	for i := range 100 {
		kept.add(int64(i)*1e9, 10, mebibyte, 1) // every ten seconds
	}
	if kept.Size != 10 {
		t.Errorf("%d of 100 kept", kept.Size)
	}
}

func TestSpreadCoversItsShare(t *testing.T) {
	r := regime.Seeded(15)
	var in80, in95, n float64
	for range 400 {
		var kept residuals
		for i := range residualCap - 1 {
			kept.add(int64(i)*200e9, 10, mebibyte, r.NormFloat64())
		}
		s := kept.Spread.times(float32(math.Exp(-float64(kept.Scale))))
		for range 20 {
			v := r.NormFloat64()
			n++
			if float64(s.Lower80) <= v && v <= float64(s.Upper80) {
				in80++
			}
			if float64(s.Lower95) <= v && v <= float64(s.Upper95) {
				in95++
			}
		}
	}
	if math.Abs(in80/n-0.80) > 0.015 || math.Abs(in95/n-0.95) > 0.01 {
		t.Errorf("%.3f within 80 %%, %.3f within 95 %%", in80/n, in95/n)
	}
}

// Intervals become narrower while too much lies within, and wider while too much does not.
func TestIntervalAdaptsToItsCoverage(t *testing.T) {
	var kept residuals
	add := func(n int, err func(i int) float64) float64 {
		for i := range n {
			kept.add(kept.Last+200e9, 10, mebibyte, err(i)*gib)
		}
		return float64(kept.Scale)
	}
	if fading := add(200, func(i int) float64 { return math.Pow(0.98, float64(i)) * math.Pow(-1, float64(i)) }); fading > -0.2 {
		t.Errorf("errors become smaller, the logarithm of the width is %.2f", fading)
	}
	if growing := add(200, func(i int) float64 { return math.Pow(1.05, float64(i)) * math.Pow(-1, float64(i)) }); growing < 0.2 {
		t.Errorf("errors become larger, the logarithm of the width is %.2f", growing)
	}
}

// What comes by half a horizon too late, or later, says nothing about a forecast.
func TestLateSampleScoresNoForecast(t *testing.T) {
	const horizon = 300.0
	for _, tc := range []struct {
		late float64
		want uint8
	}{{0, 1}, {150, 1}, {160, 0}, {500, 0}} {
		var r record
		r.promise(0, 10*gib, horizon, 0, &claims{})
		r.settle(int64((horizon+tc.late)*1e9), 11*gib, horizon, horizon, false)
		if r.Size != 0 || r.Errors.Size != tc.want {
			t.Errorf("%v s late: %d forecasts pending, %d scored, want %d", tc.late, r.Size, r.Errors.Size, tc.want)
		}
	}
}
