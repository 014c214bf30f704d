package forecast

import (
	"math"
	"slices"
	"testing"

	"vramscope/forecast/regime"
)

// The ring's order of size against sorting what it should hold.
func TestResidualsKeepTheNewestInOrder(t *testing.T) {
	r := regime.Seeded(14)
	var kept residuals
	var all []float32
	for i := range 1000 {
		v := float64(r.IntN(50) - 25) // with many equal ones
		kept.add(int64(i)*5e9, v, 10)
		all = append(all, float32(v))
		want := slices.Sorted(slices.Values(all[max(0, len(all)-residualCap):]))
		if got := kept.Sorted[:kept.Size]; !slices.Equal(got, want) {
			t.Fatalf("after %d: %v, want %v", i, got, want)
		}
	}
}

func TestResidualsThatComeTooCloseAreLeftOut(t *testing.T) {
	var kept residuals
	for i := range 100 {
		kept.add(int64(i)*1e9, 1, 110) // one every ten seconds
	}
	if kept.Size != 10 {
		t.Errorf("%d of 100 kept", kept.Size)
	}
}

func TestSpreadHoldsWhatItPromises(t *testing.T) {
	r := regime.Seeded(15)
	var in80, in95, n float64
	for range 400 {
		var kept residuals
		for i := range residualCap {
			kept.add(int64(i)*5e9, r.NormFloat64(), 10)
		}
		s := kept.spread()
		for range 20 {
			v := r.NormFloat64()
			n++
			if s.Lower80 <= v && v <= s.Upper80 {
				in80++
			}
			if s.Lower95 <= v && v <= s.Upper95 {
				in95++
			}
		}
	}
	if math.Abs(in80/n-0.80) > 0.015 || math.Abs(in95/n-0.95) > 0.01 {
		t.Errorf("%.3f within 80 %%, %.3f within 95 %%", in80/n, in95/n)
	}
}
