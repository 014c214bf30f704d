package cuda

import (
	"slices"
	"testing"

	"vramscope/internal/quantity"
)

func total(sizes []quantity.Bytes) (sum quantity.Bytes) {
	for _, size := range sizes {
		sum += size
	}
	return sum
}

// TestPlanFillsSize: the parts sum to the size except for less than the driver's
// granularity, and small blocks divide a chunk.
func TestPlanFillsSize(t *testing.T) {
	for _, size := range []quantity.Bytes{
		SmallestSize, SmallestSize + 1, 200 * quantity.MiB, quantity.GiB, 4 * quantity.GiB, 4*quantity.GiB + 12345,
		31*quantity.GiB + 999, 40 * quantity.GiB, 80 * quantity.GiB, 190 * quantity.GiB,
	} {
		for _, pattern := range Patterns() {
			for seed := range uint64(2) {
				p, err := newPlan(pattern, size, seed)
				if err != nil {
					t.Fatalf("%s %s: %v", pattern, size, err)
				}
				permanent := total(p.permanent)
				small := quantity.Bytes(p.blocks) * p.block
				if permanent+small != p.pool {
					t.Errorf("%s %s: the pool of %d is not filled: %d + %d", pattern, size, p.pool, permanent, small)
				}
				if rest := size - p.pool; rest < 0 || rest >= chunk {
					t.Errorf("%s %s: %d bytes are unused", pattern, size, rest)
				}
				if chunk%p.block != 0 || p.block > chunk/2 || p.blocks < 64 {
					t.Errorf("%s %s: %d blocks of %d", pattern, size, p.blocks, p.block)
				}
				if slices.ContainsFunc(p.permanent, func(b quantity.Bytes) bool { return b == 0 || b%chunk != 0 }) {
					t.Errorf("%s %s: permanent blocks %v", pattern, size, p.permanent)
				}
			}
		}
	}
	if _, err := newPlan(Steady, SmallestSize-1, 0); err == nil {
		t.Error("a size that is too small has a plan")
	}
}
