package graph

import (
	"math"
	"unicode/utf8"

	"github.com/guptarohit/asciigraph"

	"vramscope/themes"
	"vramscope/ui/cell"
)

// area is what lies under the curves: the parts of the history, stacked, and right of now the
// forecast, dim up to its lower bound and in another tint up to the upper one. Its edges have
// a resolution of an eighth of a row, so that a slope does not look like stairs.
type area struct {
	look *cell.Appearance
	inks [7]themes.Style // by layer
	tops [][7]float64    // by column: the top of each layer in rows, NaN where there is none
	line []float64       // by column: the median in rows, NaN where there is none
	row  int             // the row that is written, from the bottom
}

// The layers, from below: the parts, then the forecast.
const (
	layerAhead = iota + 5
	layerBand
)

func newArea(lk *cell.Appearance, c *curves, scale yAxis) area {
	s := &lk.Styles
	a := area{look: lk, inks: [7]themes.Style{s.Other, s.Unknown, s.Allocated, s.Fragmented, s.Returnable, s.Ahead, s.Band}}
	if len(c.parts) == 0 {
		return a
	}
	a.tops = make([][7]float64, len(c.history))
	a.line = make([]float64, len(c.median))
	for i, v := range c.median {
		if a.line[i] = math.NaN(); i >= len(c.parts) { // the history's last column has its own top
			a.line[i] = a.height(scale, v)
		}
	}
	for i := range a.tops {
		tops := &a.tops[i]
		for k := range tops {
			tops[k] = math.NaN()
		}
		switch {
		case i < len(c.parts):
			sum := 0.0
			for k, v := range c.parts[i] {
				if sum += v; v > 0 {
					tops[k] = a.height(scale, sum)
				}
			}
		case len(c.median) > i && !math.IsNaN(c.median[i]):
			tops[layerAhead] = a.height(scale, c.lower[i])
			tops[layerBand] = a.height(scale, c.upper[i])
		}
	}
	return a
}

// height is the height of an amount, in rows from the lower edge of the panel. asciigraph
// draws a value in the middle of its row.
func (a *area) height(scale yAxis, amount float64) float64 {
	return (amount/float64(scale.unit)-scale.floor)/scale.step + .5
}

// write writes a run of cells with one mark. Where the run is blank, the area shows.
func (a *area) write(l *cell.Line, mark asciigraph.AnsiColor, run string) {
	s := &a.look.Styles
	for i, r := range run {
		column := l.Used() - leftCells
		if column < 0 || column >= len(a.tops) {
			l.Repeat(inkOf(mark, s), run[i:i+utf8.RuneLen(r)], 1)
			continue
		}
		switch median := a.median(column); {
		case r == ' ' && median != "":
			l.Repeat(s.Edge(s.Median, a.behind(column)), median, 1)
		case r == ' ':
			style, glyph := a.at(column)
			l.Repeat(style, glyph, 1)
		default:
			l.Repeat(inkOf(mark, s), run[i:i+utf8.RuneLen(r)], 1)
		}
	}
}

// median is the forecast's line where it runs through the cell, "" where it does not.
func (a *area) median(column int) string {
	if column >= len(a.line) || math.IsNaN(a.line[column]) {
		return ""
	}
	quarter := int(math.Floor(float64(len(quarters)) * (a.line[column] - float64(a.row))))
	if quarter < 0 || quarter >= len(quarters) {
		return ""
	}
	return quarters[quarter]
}

// quarters are a line at four heights of a cell, from below.
var quarters = [...]string{"⣀", "⠤", "⠒", "⠉"}

// eighths fill a cell from below.
var eighths = [...]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// at is the cell of a column in the row. It shows at most two layers.
func (a *area) at(column int) (themes.Style, string) {
	bottom := float64(a.row)
	lower, upper := -1, -1
	edge, top := 0, 0 // in eighths
	for k, height := range a.tops[column] {
		if math.IsNaN(height) || height <= bottom {
			continue
		}
		end := int(math.Round(min(height-bottom, 1) * 8))
		if end <= top {
			continue
		}
		switch {
		case lower < 0:
			lower, edge = k, end
		default:
			upper = k
		}
		if top = end; top == 8 {
			break
		}
	}
	switch {
	case top == 0:
		return themes.Style{}, " "
	case upper < 0 || edge == top:
		return a.inks[lower], eighths[top]
	case top == 8:
		return a.look.Styles.Edge(a.inks[lower], a.inks[upper]), eighths[edge]
	case 2*edge >= top:
		return a.inks[lower], eighths[top]
	default:
		return a.inks[upper], eighths[top]
	}
}

// behind is the style of the layer in the middle of the cell.
func (a *area) behind(column int) themes.Style {
	middle := float64(a.row) + .5
	for k, height := range a.tops[column] {
		if !math.IsNaN(height) && height >= middle {
			return a.inks[k]
		}
	}
	return themes.Style{}
}
