package graph

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/quantity"
	"vramscope/ui/uitest"
)

// TestScaleFromZeroIsRound: on an axis from 0 the top row is the capacity, and labels are round, in the row of their
// amount, and not in neighbouring rows.
func TestScaleFromZeroIsRound(t *testing.T) {
	for _, gib := range []float64{5.9, 7.8, 11.8, 15.7, 22.3, 23.5, 31.4, 44.4, 47.5, 63.6, 79, 79.6, 93, 95, 119.2, 139.7, 178.4, 190, 286} {
		for rows := 5; rows <= 40; rows++ {
			c := curves{capacity: gib * float64(quantity.GiB), history: []float64{0, gib / 9 * float64(quantity.GiB)}}
			s := scaleOf(c, rows)
			if at := s.row(c.capacity); s.floor != 0 || math.Abs(at-float64(rows-1)) > 1e-6 {
				t.Errorf("%v GiB in %d rows: from %v, the capacity is at row %v", gib, rows, s.floor, at)
			}
			apart, last := 0.0, 0
			for i, label := range s.labels[1 : rows-1] {
				if label == "" {
					continue
				}
				v, err := strconv.ParseFloat(label, 64)
				if err != nil || int(math.Round(s.row(v*float64(quantity.GiB)))) != i+1 || i+1-last < 2 {
					t.Errorf("%v GiB in %d rows: %q is in row %d, after one in %d", gib, rows, label, i+1, last)
				}
				if last = i + 1; apart == 0 || rows < 7 {
					apart = v
				}
				digits := strings.TrimRight(strings.Trim(strings.ReplaceAll(strconv.FormatFloat(apart, 'f', 3, 64), ".", ""), "0"), "0")
				if !slices.Contains([]string{"1", "2", "25", "4", "5", "8"}, digits) || math.Abs(math.Remainder(v, apart)) > 1e-6 {
					t.Errorf("%v GiB in %d rows: %v among steps of %v", gib, rows, v, apart)
				}
			}
			if apart == 0 && rows > 5 {
				t.Errorf("%v GiB in %d rows: no figure between bottom and top", gib, rows)
			}
		}
	}
}

// TestLabelsAreEvenlyApart: on an H200, labels every 20 GiB would be sometimes two rows apart and
// sometimes three.
func TestLabelsAreEvenlyApart(t *testing.T) {
	for _, test := range []struct {
		gib    float64
		rows   int
		labels string
	}{{140.4, 19, "0 40 80 120 140"}, {140.4, 13, "0 50 100 140"}, {79.6, 19, "0 20 40 60 79.6"}, {23.5, 12, "0 10 20 23.5"}} {
		s := scaleOf(curves{capacity: test.gib * float64(quantity.GiB), history: []float64{0, 1}}, test.rows)
		if got := strings.Join(strings.Fields(strings.Join(s.labels, " ")), " "); got != test.labels {
			t.Errorf("%v GiB in %d rows: %s, want %s", test.gib, test.rows, got, test.labels)
		}
	}
}

// TestUncertaintyLeavesTheCurveReadable: the lower bound of a job that may end at any moment is 0.
// History and median still get a good part of the rows, and a bound below the panel is not drawn.
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
	lines := Graph{Appearance: uitest.Appearance(t, "", false)}.plot(&c, s, timeAxis{from: -time.Minute, to: time.Minute, ticks: 3, moment: "now"}, 80)
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

// TestLabelsAreMultiplesOfTheirStep: 60, 66, 72, not 57, 63, 69.
func TestLabelsAreMultiplesOfTheirStep(t *testing.T) {
	for low := 20.0; low < 76; low += .7 {
		for _, rows := range []int{7, 9, 13} {
			s := scaleOf(curves{capacity: 79.6 * float64(quantity.GiB), history: []float64{low * float64(quantity.GiB)}}, rows)
			figures := 0
			for i, label := range s.labels[:rows-1] {
				v, err := strconv.ParseFloat(label, 64)
				if label == "" {
					continue
				}
				if figures++; err != nil || s.floor > 0 && math.Abs(math.Remainder(v, 2*s.step)) > 1e-6 || math.Abs(v-s.floor-float64(i)*s.step) > s.step/2 {
					t.Errorf("from %v in %d rows: row %d from %v by %v is labelled %q", low, rows, i, s.floor, s.step, label)
				}
			}
			if figures < 2 {
				t.Errorf("from %v in %d rows: %d figures below the top", low, rows, figures)
			}
		}
	}
}
