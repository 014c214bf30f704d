package regime

import (
	"slices"
	"testing"
)

func TestSeedDeterminesSeries(t *testing.T) {
	for _, g := range All() {
		one, again, other := g.Make(Seeded(1)), g.Make(Seeded(1)), g.Make(Seeded(2))
		if !slices.Equal(one, again) {
			t.Errorf("%s: one seed makes two series", g.Name)
		}
		if slices.Equal(one, other) {
			t.Errorf("%s: two seeds make one series", g.Name)
		}
	}
}

func TestMemoryIsWithinTheCapacity(t *testing.T) {
	for _, g := range All() {
		for seed := range uint64(10) {
			y := g.Make(Seeded(seed))
			if len(y) < 120 || slices.Min(y) < 0 || slices.Max(y) > Capacity {
				t.Errorf("%s, seed %d: %d samples from %.1f to %.1f GiB", g.Name, seed, len(y), slices.Min(y)/GiB, slices.Max(y)/GiB)
			}
		}
	}
}

// Regimes that are to fill a GPU do so, and others do not. Otherwise alarms would be counted
// wrongly.
func TestOnlyFillingRegimesFillTheGPU(t *testing.T) {
	for _, g := range All() {
		for seed := range uint64(10) {
			if full := slices.Max(g.Make(Seeded(seed))) == Capacity; full != g.Fills {
				t.Errorf("%s, seed %d: fills the GPU: %t", g.Name, seed, full)
			}
		}
	}
}
