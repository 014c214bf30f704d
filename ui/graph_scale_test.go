package ui

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

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

// TestUncertaintyLeavesTheCurveReadable: a job that may end at any moment has a
// lower bound of nothing. What it used and where it is going keep half of the
// rows, and no bound is drawn that is not in its row.
func TestUncertaintyLeavesTheCurveReadable(t *testing.T) {
	const gb = float64(quantity.GiB)
	c := curves{
		capacity: 79 * gb, history: []float64{60 * gb, 61 * gb, 62 * gb, math.NaN(), math.NaN(), math.NaN()},
		median: []float64{math.NaN(), math.NaN(), 62 * gb, 66 * gb, 70 * gb, 74 * gb},
		upper:  []float64{math.NaN(), math.NaN(), 62 * gb, 68 * gb, 74 * gb, 79 * gb},
		lower:  []float64{math.NaN(), math.NaN(), 62 * gb, 50 * gb, 20 * gb, 0},
		ahead:  time.Minute, any: true,
	}
	s := scaleOf(c, 9)
	if s.floor < 35 || s.floor > 60 {
		t.Errorf("the axis starts at %v", s.floor)
	}
	lines := plot(testLook(t, "", false), c, s, timeAxis{from: -time.Minute, to: time.Minute, ticks: 3, moment: "now"}, 80)
	if bottom := ansi.Strip(lines[8]); strings.Contains(bottom, "·") {
		t.Errorf("a bound of nothing is drawn at %v: %q", s.floor, bottom)
	}
	if !strings.Contains(ansi.Strip(strings.Join(lines, "\n")), "·") {
		t.Error("no bound is drawn at all")
	}
	c.lower = []float64{math.NaN(), math.NaN(), 62 * gb, 60 * gb, 58 * gb, 57 * gb}
	if s := scaleOf(c, 9); s.floor > 57 {
		t.Errorf("a bound that is near is out of sight: the axis starts at %v", s.floor)
	}
}
