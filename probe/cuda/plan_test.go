package cuda

import (
	"testing"

	"vramscope/internal/quantity"
)

// TestPlanFillsSize: the blocks sum to the size, to within a chunk, and a block's size divides a
// chunk.
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
				if quantity.Bytes(p.blocks)*p.block != p.pool || quantity.Bytes(p.permanent)*p.block%chunk != 0 {
					t.Errorf("%s %s: the pool of %d is not filled: %+v", pattern, size, p.pool, p)
				}
				if rest := size - p.pool; rest < 0 || rest >= chunk {
					t.Errorf("%s %s: %d bytes are unused", pattern, size, rest)
				}
				if chunk%p.block != 0 || p.block > chunk/2 || p.blocks-p.permanent < 64 {
					t.Errorf("%s %s: %d blocks of %d", pattern, size, p.blocks, p.block)
				}
			}
		}
	}
	if _, err := newPlan(Steady, SmallestSize-1, 0); err == nil {
		t.Error("a size that is too small has a plan")
	}
}
