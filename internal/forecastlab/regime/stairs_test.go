package regime

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// rises returns the samples at which a series goes up by more than a size.
func rises(y []float64, size float64) []int {
	var at []int
	for i := 1; i < len(y); i++ {
		if y[i]-y[i-1] > size {
			at = append(at, i)
		}
	}
	return at
}

func TestStairsAreStepsApartAsTheyAreNamed(t *testing.T) {
	for _, g := range []struct {
		make              func(*rand.Rand) []float64
		shortest, longest int     // in seconds
		least             float64 // the least height
	}{
		{stairs, 5, 700, GiB}, // an evaluation is a step too
		{staircase, 10, 60, 0.12 * GiB},
	} {
		for seed := range uint64(20) {
			steps := rises(g.make(Seeded(seed)), g.least)
			for i := 1; i < len(steps); i++ {
				if apart := steps[i] - steps[i-1]; apart < g.shortest || apart > g.longest {
					t.Errorf("seed %d: steps at %d and %d s", seed, steps[i-1], steps[i])
				}
			}
			if len(steps) < 3 {
				t.Errorf("seed %d: %d steps", seed, len(steps))
			}
		}
	}
}

func TestPeaksGrow(t *testing.T) {
	for seed := range uint64(20) {
		y := growingPeaks(Seeded(seed))
		base := slices.Min(y)
		var tops []float64
		up := false
		for _, v := range y {
			switch {
			case v < base+0.5*GiB:
				up = false
			case !up:
				up, tops = true, append(tops, v)
			default:
				tops[len(tops)-1] = max(tops[len(tops)-1], v)
			}
		}
		if !slices.IsSorted(tops) || len(tops) < 5 {
			t.Errorf("seed %d: peaks of %.2g", seed, tops)
		}
	}
}

func TestRampsBeginWhereTheySay(t *testing.T) {
	for which, name := range RampTextures {
		for seed := range uint64(20) {
			y, begins := TexturedRamp(Seeded(seed), which)
			at, lasts := int(begins), len(y)-int(begins)
			if lasts < 60 || lasts > 700 || y[len(y)-1] != Capacity {
				t.Errorf("%s, seed %d: it lasts %d s, up to %.1f GiB", name, seed, lasts, y[len(y)-1]/GiB)
			}
			before, half := slices.Max(y[at-300:at]), slices.Min(y[at+lasts/2:])
			if middle := (before + Capacity) / 2; half > middle+0.1*Capacity || half < middle-0.2*Capacity {
				t.Errorf("%s, seed %d: from %.1f GiB, half the time fills %.1f", name, seed, before/GiB, half/GiB)
			}
		}
	}
}

func TestFirstEpochIsLong(t *testing.T) {
	for seed := range uint64(20) {
		y := LongFirstEpoch(Seeded(seed))
		first := 0
		for i := 1; i < len(y) && first == 0; i++ {
			if y[i-1]-y[i] > 0.8*GiB {
				first = i
			}
		}
		if first < 480 {
			t.Errorf("seed %d: it first falls at %d s", seed, first)
		}
	}
}
