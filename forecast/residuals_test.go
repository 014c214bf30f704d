package forecast

import (
	"math"
	"slices"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

// The sorted errors equal the ring's newest errors, sorted.
func TestResidualsKeepNewestSorted(t *testing.T) {
	r := regime.Seeded(14)
	var kept residuals
	var all []float32
	for i := range 1000 {
		v := float64(r.IntN(50) - 25) // with many equal ones
		kept.add(int64(i), v)
		all = append(all, float32(v))
		want := slices.Sorted(slices.Values(all[max(0, len(all)-residualCap):]))
		if got := kept.Sorted[:kept.Size]; !slices.Equal(got, want) {
			t.Fatalf("after %d: %v, want %v", i, got, want)
		}
	}
}

func TestResidualsSkipNeighbours(t *testing.T) {
	var kept residuals
	for i := range 100 {
		if now := int64(i) * 1e9; kept.due(now, 110) { // every ten seconds
			kept.add(now, 1)
		}
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
		for i := range residualCap {
			kept.add(int64(i), r.NormFloat64())
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

// A borrowed interval widens as a random walk, less for a return to a level, more for
// a trend.
func TestBorrowedIntervalWidens(t *testing.T) {
	if walk, level, trend := wider(driftShort, 0, 4), wider(medianLong, 1, 4), wider(driftShort, 1, 4); walk != 2 || level != 1 || trend != 4 {
		t.Errorf("%v, %v, %v", walk, level, trend)
	}
}

// White errors count one by one; of errors that come eight times each about one in
// eight counts; equal errors all count.
func TestCorrelatedErrorsCountForFewer(t *testing.T) {
	r := regime.Seeded(17)
	var white, eightfold, same residuals
	v := 0.0
	for i := range 2 * residualCap {
		if i%8 == 0 {
			v = r.NormFloat64()
		}
		white.add(int64(i), r.NormFloat64())
		eightfold.add(int64(i), v)
		same.add(int64(i), 5)
	}
	if got := white.independent(); got < 0.7*residualCap {
		t.Errorf("%d white errors count for %.1f", residualCap, got)
	}
	if got := eightfold.independent(); got < residualCap/24 || got > residualCap/4 {
		t.Errorf("%d errors, eight times each, count for %.1f", residualCap, got)
	}
	if got := same.independent(); got != residualCap {
		t.Errorf("%d equal errors count for %.1f", residualCap, got)
	}
	if a, b := white.spread().wide(), eightfold.spread().wide(); b <= a*0.8 {
		t.Errorf("an interval of few errors is %.2f wide, of many %.2f", b, a)
	}
}
