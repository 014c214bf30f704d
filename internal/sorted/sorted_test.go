package sorted

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Elements that compare equal keep their order, at lengths below and above the blocks of 20 that the
// library sorts.
func TestStableSortsAsSlicesDoes(t *testing.T) {
	type pair struct {
		key   int
		name  string
		place int
	}
	random := rand.New(rand.NewPCG(1, 2))
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	for length := range 70 {
		list := make([]pair, length)
		for i := range list {
			list[i] = pair{key: random.IntN(9), name: "x", place: i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		if Stable(list, byKey); !slices.Equal(list, want) {
			t.Fatalf("%d pairs: %v, want %v", length, list, want)
		}
	}
}
