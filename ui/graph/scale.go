package graph

import (
	"math"
	"strconv"
	"strings"

	"vramscope/internal/quantity"
)

// yAxis maps bytes to rows. The top row is the capacity or, if that is unknown or below the data, the maximum of the
// data. The bottom row is 0, or a round number below the data, so that changes fill the panel. The lower bound of a
// forecast, which is 0 for a job that may end soon, gets only a part of the rows.
type yAxis struct {
	unit   quantity.Bytes // of the labels: GiB, MiB, …
	letter string         // of the unit: "G"
	floor  float64        // of the bottom row, in units
	step   float64        // from row to row, in units
	rows   int
	labels []string // by row from the bottom, at most labelCells wide, "" where none
}

// rowsFromZero is the number of rows from which a panel is tall. maxGraphed is the maximum that is drawn, so that an
// impossible figure does not overflow the labels.
const (
	rowsFromZero = 16
	maxGraphed   = float64(quantity.EiB)
)

func scaleOf(c curves, rows int) yAxis {
	low, high := c.extremes()
	top := high
	if math.IsNaN(top) || top < c.capacity {
		top = c.capacity
	}
	if math.IsNaN(top) || top <= 0 {
		top = float64(quantity.GiB) // an empty panel needs some scale
	}
	if math.IsNaN(low) {
		low = 0
	}
	if c.capacity < low {
		low = c.capacity // the capacity's line shows that figures above it are wrong
	}
	top = min(top, maxGraphed)
	if bound := lowest(c.lower); bound < low {
		low = max(bound, low-max(top-low, top/10))
	}
	unit, letter := unitOf(quantity.Bytes(top))
	s := yAxis{unit: unit, letter: letter, rows: rows}
	s.floor, s.step = roundFloor(low/float64(unit), top/float64(unit), rows)
	s.labels = s.label(top)
	return s
}

// row returns where an amount is drawn, counted from the bottom, unrounded.
func (s yAxis) row(amount float64) float64 {
	r := (amount/float64(s.unit) - s.floor) / s.step
	return min(max(r, 0), float64(s.rows-1))
}

// below reports whether an amount is under the bottom row.
func (s yAxis) below(amount float64) bool {
	return amount/float64(s.unit) < s.floor-s.step/2
}

// roundFloor chooses a round step and floor, so that top is in the top row and low is not below the bottom row. With
// floor 0 the step is not round: then top is exact.
func roundFloor(low, top float64, rows int) (floor, step float64) {
	intervals := float64(rows - 1)
	fromZero := top / intervals
	if rows >= rowsFromZero && low < top/2 { // with a higher low, half of the panel would be empty
		return 0, fromZero
	}
	// The panel spans at least a twentieth of top, so that noise on a flat line is not magnified.
	span := max(top-low, top/20)
	decade := math.Pow(10, math.Floor(math.Log10(span/intervals)))
	for range 3 {
		for _, factor := range [...]float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
			step = factor * decade
			if step*intervals < span*.9 {
				continue
			}
			// Top rounded to a multiple of step; a half is rounded up.
			ceiling := math.Floor((top-step/2)/step+1+1e-9) * step
			floor = ceiling - step*intervals
			if floor <= 0 {
				return 0, fromZero
			}
			if floor <= low+1e-9 {
				return floor, step
			}
		}
		decade *= 10
	}
	return 0, fromZero
}

// label writes the top row's amount, and round figures in rows below it.
func (s yAxis) label(top float64) []string {
	labels := make([]string, s.rows)
	apart := 2 * s.step
	switch {
	case s.floor == 0 && s.rows < 7: // one figure has room
		apart = roundStep(1.5 * s.step)
	case s.floor == 0:
		apart = s.evenStep(apart)
	}
	first := s.floor
	if s.rows >= 7 { // if the panel is lower, each row that can have a label needs one
		first = math.Ceil(s.floor/apart-1e-9) * apart
	}
	decimals := s.decimals(first, apart)
	for v := first; ; v += apart {
		row := int(math.Round((v - s.floor) / s.step))
		if row >= s.rows-1 {
			break
		}
		if row == 0 || labels[row-1] == "" {
			labels[row] = fixed(v, decimals)
		}
	}
	if s.rows > 2 {
		labels[s.rows-2] = "" // not directly below the top label
	}
	text := quantity.Bytes(top).String()
	labels[s.rows-1] = strings.TrimRight(text, "BKMGTPE")
	return labels
}

// roundStep returns the smallest round number that is not below lower.
func roundStep(lower float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(lower)))
	for _, factor := range [...]float64{1, 2, 2.5, 4, 5, 8} {
		if step := factor * decade; step >= lower {
			return step
		}
	}
	return 10 * decade
}

// evenStep returns the smallest round step from lower on with two labels above 0 and nearly equal distances: 5, 4 and 5
// rows, not 2 and 3. Without such a step it returns the smallest round step.
func (s yAxis) evenStep(lower float64) float64 {
	top := s.step * float64(s.rows-1)
	for step := roundStep(lower); 2*step < top; step = roundStep(step * 1.01) {
		minApart, maxApart := math.Inf(1), 0.0
		for v := step; v < top; v += step {
			apart := math.Round(v/s.step) - math.Round((v-step)/s.step)
			minApart, maxApart = min(minApart, apart), max(maxApart, apart)
		}
		if maxApart-minApart <= minApart/4 {
			return step
		}
	}
	return roundStep(lower)
}

// decimals returns how many decimals write the labels exactly or, if 0 and 1 do not, how many make them differ.
func (s yAxis) decimals(first, apart float64) int {
	for decimals := range 2 {
		scale := math.Pow(10, float64(decimals))
		exact := true
		for v := first; v <= s.floor+s.step*float64(s.rows); v += apart {
			if at := v * scale; math.Abs(at-math.Round(at)) > 1e-6 {
				exact = false
				break
			}
		}
		if exact {
			return decimals
		}
	}
	if apart >= .5 {
		return 1
	}
	return 2
}

// fixed writes a label's figure in at most labelCells cells.
func fixed(v float64, decimals int) string {
	if v == 0 {
		return "0"
	}
	for ; ; decimals-- {
		text := strconv.FormatFloat(v, 'f', max(decimals, 0), 64)
		if len(text) <= labelCells || decimals <= 0 {
			return text
		}
	}
}

// unitOf returns the unit that Bytes.String writes an amount in, and its letter.
func unitOf(amount quantity.Bytes) (unit quantity.Bytes, letter string) {
	const letters = "BKMGTPE"
	text := amount.String()
	i := max(strings.IndexByte(letters, text[len(text)-1]), 0)
	return 1 << (10 * i), letters[i : i+1]
}
