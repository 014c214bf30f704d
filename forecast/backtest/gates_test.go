package backtest

import (
	"math"
	"testing"
	"time"

	"vramscope/forecast"
	"vramscope/internal/forecastlab/regime"
)

// TestFamiliesAreForecastAsWell: for each family of regimes, the error a minute ahead, relative to
// that of the naive forecast, is no larger than it was.
func TestFamiliesAreForecastAsWell(t *testing.T) {
	largest := map[string]float64{
		"steps": 1.03, "noise": 0.90, "slow change": 0.3, "sawtooth": 0.42, "as recorded": 1.02,
		"leak": 0.14, "leak under a texture": 0.5, "stairs": 0.47,
	}
	for _, family := range regime.Families() {
		var scores []*Score
		for i := range 12 {
			g := &family.Regimes[i%len(family.Regimes)]
			series := evenly(g.Name, g.Every(), int64(regime.Capacity), g.Make(regime.Seeded(uint64(1000+i))))
			scores = append(scores, replayed(t, forecast.New(), series))
		}
		sum := Summarise(scores...)
		if got := float64(sum.Horizons[2].Relative); !(got <= largest[family.Name]) {
			t.Errorf("%s: %.3f, at most %.2f", family.Name, got, largest[family.Name])
		} else {
			t.Logf("%s: %.3f", family.Name, got)
		}
	}
}

func TestCoverageAtAnySamplingInterval(t *testing.T) {
	for _, step := range []float64{0.1, 0.5, 2, 5, 30} {
		n := min(int(7200/step), 12000)
		r := regime.Seeded(3)
		level := make([]float64, n)
		for i := range level {
			level[i] = 30*gib + gib*r.NormFloat64()
		}
		sum := Summarise(replayed(t, forecast.New(), evenly("noise", step, 0, level)))
		for _, h := range sum.Horizons {
			if h.Forecasts < 200 || h.Seconds > float64(n)*step/20 {
				continue
			}
			// The gate is for many series. The coverage of a single one varies more.
			if c := h.In80.Coverage; c < 0.72 || c > 0.92 {
				t.Errorf("every %v s, at %v s: %.3f within 80 %%", step, h.Seconds, c)
			}
		}
	}
}

// A leak like that of the demo's GPU is announced four minutes ahead within 5 %.
func TestLeakIsAnnouncedFourMinutesAhead(t *testing.T) {
	y := regime.Leak(regime.Seeded(77))
	end := float64(len(y) - 1)
	f := forecast.New()
	s := evenly("leak", 1, int64(regime.Capacity), y)
	Replay(f, s, func(sample *Sample, answer *Answer) {
		left := end - sample.Seconds
		if wrong := math.Abs(answer.Full.Median.Seconds()-left) / left; left == 240 && (!answer.Fills || wrong > 0.05) {
			t.Errorf("four minutes before the end: %v, by %.1f %% wrong", answer.Full.Median.Round(time.Second), 100*wrong)
		}
	})
}
