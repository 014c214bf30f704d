package regime

import (
	"math"
	"testing"
)

// The mean is the same before a change, and another after it.
func TestChangeIsAtItsSample(t *testing.T) {
	for _, c := range Changes() {
		for seed := range uint64(10) {
			y, at := c.Make(Seeded(seed))
			if at < 1000 || at+300 > len(y) {
				t.Fatalf("%s, seed %d: at %d of %d samples", c.Name, seed, at, len(y))
			}
			mean := func(from, to int) float64 {
				sum := 0.0
				for _, v := range y[from:to] {
					sum += v
				}
				return sum / float64(to-from)
			}
			// Of a sawtooth, means over the cycles of five minutes.
			before := mean(at-300, at) - mean(at-600, at-300)
			after := mean(at, at+300) - mean(at-300, at)
			if math.Abs(after-before) < 0.5*GiB {
				t.Errorf("%s, seed %d: by %.2f GiB before, by %.2f after", c.Name, seed, before/GiB, after/GiB)
			}
		}
	}
}
