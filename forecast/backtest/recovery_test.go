package backtest

import (
	"testing"

	"vramscope/forecast"
	"vramscope/internal/forecastlab/regime"
)

// From three hours after a change of regime, intervals contain their share of the values again.
func TestCoverageRecoversAfterAChange(t *testing.T) {
	const (
		change   = 2 * 3600
		recovers = 3 * 3600
		length   = change + recovers + 2*3600
		seeds    = 12
	)
	for _, tc := range []struct {
		name                           string
		size, rise, sizeAfter, levelUp float64 // in GiB
	}{
		{"noise grows", 0.1, 0, 0.8, 0},
		{"noise shrinks", 0.8, 0, 0.1, 0},
		{"the level jumps", 0.3, 0, 0.3, 25},
		{"a climb ends", 0.2, 0.005, 0.2, 0},
	} {
		var within80, within95, scored [len(forecast.Horizons)]float64
		for seed := range uint64(seeds) {
			r := regime.Seeded(3000 + seed)
			used := make([]float64, length)
			for i := range used {
				level, size := 20*gib+tc.rise*gib*float64(min(i, change)), tc.size*gib
				if i >= change {
					level, size = level+tc.levelUp*gib, tc.sizeAfter*gib
				}
				used[i] = level + size*r.NormFloat64()
			}
			i := 0
			Replay(forecast.New(), evenly("a", 1, 0, used), func(_ *Sample, answer *Answer) {
				if i >= change+recovers {
					for k, in := range answer.Forecasts {
						j := i + int(in.Horizon.Seconds())
						if j >= length {
							continue
						}
						came := int64(used[j])
						scored[k]++
						if in.Lower80 <= came && came <= in.Upper80 {
							within80[k]++
						}
						if in.Lower95 <= came && came <= in.Upper95 {
							within95[k]++
						}
					}
				}
				i++
			})
		}
		for k, h := range forecast.Horizons {
			in80, in95 := within80[k]/scored[k], within95[k]/scored[k]
			t.Logf("%s, at %v: %.3f within 80 %%, %.3f within 95 %%", tc.name, h, in80, in95)
			if in80 < 0.75 || in80 > 0.90 || in95 < 0.925 {
				t.Errorf("%s, at %v: %.3f within 80 %%, %.3f within 95 %%", tc.name, h, in80, in95)
			}
		}
	}
}
