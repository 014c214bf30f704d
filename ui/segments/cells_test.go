package segments

import (
	"math"
	"slices"
	"testing"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/uitest"
)

// At each size of a cell, a state has cells about in proportion to its memory.
func TestCellsAreProportionalToMemory(t *testing.T) {
	m := New(uitest.CarolsSegments())
	for _, unit := range []quantity.Bytes{quantity.MiB, 24 * quantity.MiB, 64 * quantity.MiB, 512 * quantity.MiB} {
		var counts [4]int
		for i := range m.bySize {
			for _, c := range m.bySize[i].cells(unit, 60) {
				if c != cellGap {
					counts[c]++
				}
			}
		}
		for state, sum := range m.sums {
			want := float64(sum) / float64(unit)
			// Each band may be off by half a cell, as may each segment between gaps.
			if off := math.Abs(float64(counts[state]) - want); off > float64(len(m.bySize))+want/10 {
				t.Errorf("at %v a cell: state %d has %d cells, its memory is worth %.1f", unit, state, counts[state], want)
			}
		}
	}
}

// TestSmallLiveBlockIsShown: a huge free segment with one small live block must not look free.
func TestSmallLiveBlockIsShown(t *testing.T) {
	m := New(snapshot.SegmentMap{Segments: []snapshot.Segment{{Blocks: []snapshot.Block{
		{Size: 3 * quantity.GiB, State: snapshot.BlockFragmented}, {Size: quantity.MiB, State: snapshot.BlockLive}, {Size: 3 * quantity.GiB, State: snapshot.BlockFragmented},
	}}}})
	cells := m.byFate[0].cells(128*quantity.MiB, 60)
	if !slices.Contains(cells, mapCell(snapshot.BlockLive)) {
		t.Errorf("no live cell in %v", cells)
	}
}
