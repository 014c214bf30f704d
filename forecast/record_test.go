package forecast

import (
	"math"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

func TestResidualsSkipNeighbours(t *testing.T) {
	var kept residuals
	for i := range 101 {
		kept.add(int64(i)*1e9, 10, mebibyte, 1) // every ten seconds
	}
	if kept.Size != 11 {
		t.Errorf("%d of 101 kept", kept.Size)
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

// Intervals become narrower while too many values lie within, and wider while too many do not.
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

// A sample that is too late by more than half its horizon and a second does not score a forecast.
func TestLateSampleScoresNoForecast(t *testing.T) {
	const horizon = 300.0
	for _, tc := range []struct {
		late float64
		want uint8
	}{{0, 1}, {151, 1}, {151.001, 0}, {500, 0}} {
		var r record
		var pending [pendingCap]promise
		r.promise(&pending, 0, 10*gib, horizon, 0, &claims{})
		r.settle(&pending, int64((horizon+tc.late)*1e9), 11*gib, horizon, horizon, false)
		if r.Size != 0 || r.Errors.Size != tc.want {
			t.Errorf("%v s late: %d forecasts pending, %d scored, want %d", tc.late, r.Size, r.Errors.Size, tc.want)
		}
	}
}

// Forecasts are made up to thirteen times in a horizon, and no more often.
func TestForecastsAreMadeThroughoutTheHorizon(t *testing.T) {
	const horizon = float64(pendingCap - 1)
	for apart, want := range map[int64]uint8{1e9: pendingCap, 1e9 - 1: pendingCap / 2} {
		var r record
		var pending [pendingCap]promise
		for i := range int64(pendingCap) {
			r.promise(&pending, i*apart, gib, horizon, 0, &claims{})
		}
		if r.Size != want {
			t.Errorf("of %d forecasts every %d ns %d are kept, want %d", pendingCap, apart, r.Size, want)
		}
	}
}

// With nine errors, the 80 % interval ends at the worst error on each side. With fewer, it extends
// beyond the worst error.
func TestIntervalEndsAtTheWorstOfNine(t *testing.T) {
	var kept residuals
	for i := range 9 {
		kept.add(int64(i)*200e9, 10, mebibyte, float64(i-4)*gib)
		if want := float32(i-4) * beyond * (1 << 30); i > 4 && i < 8 && kept.Spread.Upper80 != want {
			t.Errorf("of %d errors: up to %.2f GiB, want %.2f", i+1, kept.Spread.Upper80/(1<<30), want/(1<<30))
		}
	}
	if want := (spread{-4 << 30, 4 << 30, -4 * beyond * (1 << 30), 4 * beyond * (1 << 30)}); kept.Spread != want {
		t.Errorf("of nine errors from -4 to 4 GiB: %+v", kept.Spread)
	}
}

// From the tenth error on the interval becomes wider after each error that is more than a mebibyte
// outside, and narrower after every other error.
func TestIntervalIsWiderAfterAMiss(t *testing.T) {
	const held, missed = -(1 - level) * adapting, level * adapting
	for err, want := range map[float64]float64{0: held, mebibyte: held, mebibyte + 1: missed, -mebibyte: held, -mebibyte - 1: missed} {
		var kept residuals
		for i := range 9 {
			kept.add(int64(i)*200e9, 10, mebibyte, 0)
		}
		if kept.Scale != 0 {
			t.Fatalf("after nine errors: %v", kept.Scale)
		}
		kept.add(9*200e9, 10, mebibyte, err)
		if math.Abs(float64(kept.Scale)-want) > 1e-6 {
			t.Errorf("an error of %.0f bytes: %v, want %v", err, kept.Scale, want)
		}
	}
}
