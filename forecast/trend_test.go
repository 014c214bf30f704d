package forecast

import (
	"math"
	"slices"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

func TestTrends(t *testing.T) {
	r := regime.Seeded(10)
	shaken := func(y []float64, size float64) []float64 {
		for i := range y {
			y[i] += size * r.NormFloat64()
		}
		return y
	}
	step := append(flat(600, 20*gib), flat(300, 40*gib)...)
	saturating := make([]float64, 1500)
	for i := range saturating {
		saturating[i] = 10*gib + 20*gib*(1-math.Exp(-float64(i)/300))
	}
	slowly := make([]float64, 1000)
	for i := range slowly {
		slowly[i] = 10*gib + 40*gib*(1-math.Exp(-float64(i)/1500))
	}
	saw := make([]float64, 3000)
	for i := range saw {
		saw[i] = 30*gib + 4*gib*float64(i%50)/50
	}
	leakingSaw := make([]float64, 3000)
	for i := range leakingSaw {
		leakingSaw[i] = saw[i] + 15*mib*float64(i)
	}
	stopped := append(ramp(900, 10*gib, 20*mib), flat(900, 10*gib+900*20*mib)...)
	for _, tc := range []struct {
		name string
		y    []float64
		want Trend
	}{
		{"small noise", shaken(flat(900, 30*gib), 100*mib), Steady},
		{"one step", step, Steady},
		{"a ramp of two minutes", ramp(120, 10*gib, 30*mib), Growing},
		{"a ramp of seven minutes", shaken(ramp(420, 10*gib, 20*mib), 50*mib), Growing},
		{"a leak", shaken(slices.Concat(flat(900, 10*gib), ramp(900, 10*gib, 20*mib)), 50*mib), Leak},
		{"a leak from the start", shaken(ramp(900, 10*gib, 10*mib), 20*mib), Leak},
		{"saturating, early", saturating[:400], Growing},
		{"saturating, over", saturating, Steady},
		{"saturating within an hour", shaken(slowly, 30*mib), Growing},
		{"falling", ramp(300, 60*gib, -30*mib), Shrinking},
		{"sawtooth", saw, Sawtooth},
		{"a leak under a sawtooth", leakingSaw, Leak},
		{"a leak that has stopped", stopped, Steady},
	} {
		if got := fed(tc.y, 1).Trend(); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// Growth up to an earlier peak is no leak.
func TestRegrowthAfterReleaseIsNoLeak(t *testing.T) {
	const rate = 6 * mib
	f := New()
	now := 0
	climb := func(from, to float64, see func(level float64, trend Trend)) {
		for level := from; level < to; level += rate {
			f.Observe(after(float64(now)), int64(level))
			now++
			see(level, f.Trend())
		}
	}
	leaked := false
	climb(10*gib, 34*gib, func(_ float64, trend Trend) { leaked = leaked || trend == Leak })
	if !leaked {
		t.Error("the first climb is not called a leak")
	}
	leaked = false
	climb(10*gib, 45*gib, func(level float64, trend Trend) {
		if trend == Leak && level < 30*gib && level > 12*gib {
			t.Fatalf("a leak at %.1f GiB, after 34 GiB were freed", level/gib)
		}
		leaked = leaked || trend == Leak
	})
	if !leaked {
		t.Error("growth beyond the earlier peak is not called a leak")
	}
}

func TestLeakRateIsGrowthOfMinima(t *testing.T) {
	r := regime.Seeded(11)
	y := ramp(3000, 20*gib, 12*mib)
	for i := range y {
		y[i] += 5*gib*float64(i%37)/37 + 20*mib*r.NormFloat64()
	}
	f := fed(y, 1)
	if rate, ok := f.GrowthPerSecond(); f.Trend() != Leak || !ok || math.Abs(rate-12*mib) > 1.2*mib {
		t.Errorf("%v, %.2f MiB/s", f.Trend(), rate/mib)
	}
}

func TestTrendOfRareSamples(t *testing.T) {
	y := make([]float64, 60)
	for i := range y {
		y[i] = 10*gib + 57*mib*float64(i)
	}
	if got := fed(y, 57).Trend(); got != Leak && got != Growing {
		t.Errorf("a leak seen once a minute is %v", got)
	}
}
