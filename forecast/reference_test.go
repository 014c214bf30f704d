package forecast

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// reference is testdata/reference.json, which testdata/reference.py wrote.
type reference struct {
	Regressions []struct {
		T, Y                           []float64
		Tau                            float64
		Mean, Height, Slope, Explained float64
	}
}

func readReference(t *testing.T) *reference {
	t.Helper()
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref reference
	if err := json.Unmarshal(data, &ref); err != nil {
		t.Fatal(err)
	}
	return &ref
}

// near fails unless got equals want up to rounding.
func near(t *testing.T, what string, got, want, scale float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-8*scale) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestRegressionIsWeightedLeastSquares(t *testing.T) {
	for _, ref := range readReference(t).Regressions {
		var r regression
		r.observe(0, 0)
		for i := 1; i < len(ref.T); i++ {
			r.observe((ref.T[i]-ref.T[i-1])/ref.Tau, ref.Y[i]-ref.Y[i-1])
		}
		l := r.line(ref.Tau)
		near(t, "mean", r.Y/r.N, ref.Mean, 1e10)
		near(t, "height", l.height, ref.Height, 1e10)
		near(t, "slope", l.slope*ref.Tau, ref.Slope, 1e10)
		near(t, "explained", l.explained, ref.Explained, 1)
	}
}
