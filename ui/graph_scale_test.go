package ui

import (
	"math"
	"strconv"
	"testing"

	"vramscope/internal/quantity"
)

// TestScaleFromZeroIsRound: where the axis starts at 0, on every card that
// there is, the capacity is in the top row, each figure is of the row it
// stands in, and from 47 GiB on the panels that an 80×24, a 120×40 and a
// 200×50 screen have are labelled with whole numbers.
func TestScaleFromZeroIsRound(t *testing.T) {
	whole := map[int]bool{6: true, 7: true, 9: true, 13: true}
	for _, gib := range []float64{5.9, 7.8, 11.8, 15.7, 22.3, 23.5, 31.4, 47.5, 63.6, 79, 79.6, 93, 95, 119.2, 139.7, 178.4, 190, 286} {
		for rows := 5; rows <= 16; rows++ {
			c := curves{capacity: gib * float64(quantity.GiB), history: []float64{0, gib / 9 * float64(quantity.GiB)}}
			s := scaleOf(c, rows)
			if s.floor != 0 {
				t.Errorf("%v GiB in %d rows: the axis starts at %v", gib, rows, s.floor)
				continue
			}
			if at := gib / s.step; math.Round(at) != float64(rows-1) {
				t.Errorf("%v GiB in %d rows: the capacity is at row %.2f", gib, rows, at)
			}
			for i, label := range s.labels[:rows-1] {
				if label == "" {
					continue
				}
				v, err := strconv.ParseFloat(label, 64)
				if err != nil || math.Abs(v-float64(i)*s.step) > .051 {
					t.Errorf("%v GiB in %d rows: row %d, which is %v, is labelled %q", gib, rows, i, float64(i)*s.step, label)
				}
				if gib > 40 && whole[rows] && v != math.Trunc(v) {
					t.Errorf("%v GiB in %d rows: %q is not round", gib, rows, label)
				}
			}
		}
	}
}
