package backtest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"vramscope/forecast"
)

// On real memory the naive forecast is nearly unbeatable; the forecaster must not be
// worse.
func TestRealTracesAreForecastNoWorseThanNaive(t *testing.T) {
	dir := os.Getenv("VRAMSCOPE_TRACES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	file, err := os.Open(filepath.Join(dir, "alibaba_gentd26.csv.gz"))
	if err != nil {
		t.Skipf("no real traces here; VRAMSCOPE_TRACES names their directory: %v", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	trace, err := Read(file)
	if err != nil || len(trace.Bad) > 0 {
		t.Fatal(err, trace.Bad)
	}
	const ofGroups, groups = 16, 18 // gate 12 of docs/forecast.md
	var scores []*Score
	var apart [groups][]*Score
	for i, s := range trace.Series {
		scores = append(scores, replayed(t, forecast.New(), s))
		apart[i%groups] = append(apart[i%groups], scores[i])
	}
	good := 0
	for _, group := range apart {
		if !slices.ContainsFunc(Summarise(group...).Horizons, func(h HorizonSummary) bool { return h.Forecasts > 0 && h.Relative > 1.02 }) {
			good++
		}
	}
	if t.Logf("%d of %d groups are at most 1.02 × the naive method's error at every horizon", good, groups); good < ofGroups {
		t.Error("too few")
	}
	sum := Summarise(scores...)
	if sum.Horizons[6].Forecasts == 0 {
		t.Fatal("nothing is scored")
	}
	for _, h := range sum.Horizons {
		if h.Forecasts == 0 {
			continue
		}
		t.Logf("at %.0f s: relative error %.3f, %.3f within 80 %%, %.3f within 95 %%", h.Seconds, h.Relative, h.In80.Coverage, h.In95.Coverage)
		if h.Relative > 1 {
			t.Errorf("at %.0f s: relative error %.3f, naive has 1", h.Seconds, h.Relative)
		}
		if h.In80.Coverage < 0.78 || h.In95.Coverage < 0.92 {
			t.Errorf("at %.0f s: %.3f within 80 %%, %.3f within 95 %%", h.Seconds, h.In80.Coverage, h.In95.Coverage)
		}
	}
	t.Logf("leaks %+v", sum.Leak)
}
