package graph

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/guptarohit/asciigraph"

	"vramscope/themes"
	"vramscope/ui/cell"
)

// area draws the memory under the curves. Left of now it has the parts of the history, stacked. Right of now it has
// the same parts, faded, up to the forecast's median, and over the 80 % range a veil, which fades towards the bounds.
// Memory that was used for only a part of a column's time is faded, too. Edges have a resolution of an eighth of a row.
// Where colours cannot fade (Appearance.Smooth), only the history has parts: in textures, and under the curves.
type area struct {
	look  *cell.Appearance
	inks  [layers]themes.Style // by layer
	fills [layerFaded]string   // the glyphs of the parts, drawn where colours cannot fade
	tops  [][layers]float64    // by column: the top of each layer in rows, 0 if there is none
	ahead []bounds             // by column
	wide  int                  // columns
	row   int                  // the row that is written, from the bottom
	top   int                  // the row of the capacity
	full  int                  // the column in which the forecast reaches the capacity; 0: none
	when  string               // the label of that column
	from  int                  // the label's first column
}

// bounds are a forecast in rows, 0 if there is none.
type bounds struct{ lower, median, upper float64 }

// The layers, from below: the parts, the parts faded, and the veil above the forecast's median.
const (
	layerFaded = len(column{}) * (iota + 1)
	layerVeil
	layers = layerVeil + len(themes.Styles{}.Veil)
)

func newArea(lk *cell.Appearance, c *curves, scale yAxis) area {
	s := &lk.Styles
	a := area{look: lk, wide: len(c.history), top: int(math.Round(scale.row(c.capacity))), full: c.full, when: " full " + c.when + " ", from: c.full + 1}
	if a.from+len(a.when) > len(c.history) {
		a.from = c.full - len(a.when)
	}
	for i, ink := range lk.Inks() {
		if i == layerFaded { // free memory
			break
		}
		a.inks[i], a.inks[layerFaded+i], a.fills[i] = ink.Style, ink.Style, ink.Text
	}
	if lk.Smooth() {
		copy(a.inks[layerFaded:], s.Faded[:])
		copy(a.inks[layerVeil:], s.Veil[:])
	}
	if len(c.parts) == 0 {
		return a
	}
	a.tops, a.ahead = make([][layers]float64, len(c.history)), make([]bounds, len(c.history))
	for i := range c.parts {
		a.stack(&a.tops[i], &c.parts[i], 1, c.least[i], c.history[i], scale)
	}
	now := c.parts[len(c.parts)-1]
	sum := now.sum()
	for i := len(c.parts); i < len(c.median) && lk.Smooth(); i++ {
		median := c.median[i]
		if math.IsNaN(median) {
			continue
		}
		tops := &a.tops[i]
		if sum > 0 {
			a.stack(tops, &now, median/sum, 0, median, scale)
		}
		b := bounds{a.height(scale, c.lower[i]), a.height(scale, median), a.height(scale, c.upper[i])}
		for k := range s.Veil {
			tops[layerVeil+k] = b.median + (b.upper-b.median)*float64(k+1)/float64(len(s.Veil))
		}
		a.ahead[i] = b
	}
	return a
}

// stack stacks the parts, multiplied by factor, up to end. Above solid they are faded.
func (a *area) stack(tops *[layers]float64, parts *column, factor, solid, end float64, scale yAxis) {
	sum := 0.0
	for k, v := range parts {
		before := sum
		if sum += v * factor; v == 0 {
			continue
		}
		if before < solid {
			tops[k] = a.height(scale, min(sum, solid))
		}
		if sum > solid && before < end {
			tops[layerFaded+k] = a.height(scale, min(sum, end))
		}
	}
}

// height returns the height of an amount, in rows from the lower edge of the panel. asciigraph draws a value in the
// middle of a row.
func (a *area) height(scale yAxis, amount float64) float64 {
	return (amount/float64(scale.unit)-scale.floor)/scale.step + .5
}

func (a *area) write(l *cell.Line, mark asciigraph.AnsiColor, run string) {
	column := l.Used() - leftCells
	style, glyph, cells := themes.Style{}, "", 0
	for i, r := range run {
		s, g := a.cell(column, mark, run[i:i+utf8.RuneLen(r)])
		if s != style || g != glyph {
			l.Repeat(style, glyph, cells)
			style, glyph, cells = s, g, 0
		}
		column, cells = column+1, cells+1
	}
	l.Repeat(style, glyph, cells)
}

// cell returns what to draw in a column of the row. Where the curves are blank, the area shows.
func (a *area) cell(column int, mark asciigraph.AnsiColor, curve string) (themes.Style, string) {
	s := &a.look.Styles
	if tick := a.tick(column, curve == " "); tick != "" {
		return s.Capacity, tick
	}
	if curve != " " || column < 0 || column >= len(a.tops) {
		return inkOf(mark, s), curve
	}
	if median := a.ahead[column].line(a.row); median != "" {
		return s.Edge(s.Median, a.behind(column)), median
	}
	return a.at(column)
}

// tick returns a cell of the line that marks when memory will be full or, in the row of the capacity, of the line's
// label; "" elsewhere.
func (a *area) tick(column int, blank bool) string {
	switch at := column - a.from; {
	case a.full == 0 || column < 0:
		return ""
	case column == a.full && blank:
		return a.look.Glyphs.Side
	case a.row != a.top:
		return ""
	case column == a.full && a.look.Glyphs.ASCII:
		return "+"
	case column == a.full:
		return "╤"
	case at >= 0 && at < len(a.when):
		return a.when[at : at+1]
	default:
		return ""
	}
}

// line returns the median where it runs through the row, else "". Where the range is narrow, the edge of the parts is the
// median, and line returns "".
func (b bounds) line(row int) string {
	if height := b.median - float64(row); height >= 0 && height < 1 && b.upper-b.median >= 1 {
		return quarters[int(float64(len(quarters))*height)]
	}
	return ""
}

// veil returns the texture over the parts in a row between the lower bound and the median; "" elsewhere.
func (b bounds) veil(row int) string {
	if b.median < float64(row+1) {
		return ""
	}
	switch nearness := (float64(row) + .5 - b.lower) / (b.median - b.lower); {
	case !(nearness > 0): // NaN where the bounds are equal
		return ""
	case nearness > .5:
		return "▒"
	default:
		return "░"
	}
}

// quarters are a line at four heights of a cell, from below.
var quarters = [...]string{"⣀", "⠤", "⠒", "⠉"}

// eighths fill a cell from below.
var eighths = [...]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// at returns the cell of a column in the row. It shows at most two layers.
func (a *area) at(column int) (themes.Style, string) {
	if !a.look.Smooth() {
		if k := a.middle(column); k >= 0 {
			return a.inks[k], a.fills[k%layerFaded]
		}
		return themes.Style{}, " "
	}
	if veil := a.ahead[column].veil(a.row); veil != "" {
		return a.look.Styles.Edge(a.look.Styles.Veil[0], a.behind(column)), veil
	}
	bottom := float64(a.row)
	lower, upper := -1, -1
	edge, top := 0, 0 // in eighths
	for k, height := range a.tops[column] {
		if height <= bottom {
			continue
		}
		end := int(math.Round(min(height-bottom, 1) * 8))
		if end <= top {
			continue
		}
		veiled := k >= layerVeil && lower >= 0 && lower < layerVeil
		switch {
		case veiled && (k < layers-1 || end < 4): // the edge of the parts is the median, and stays visible
			continue
		case veiled && upper >= 0 && upper < layerVeil:
			lower, edge, upper = upper, top, k
		case lower < 0:
			lower, edge = k, end
		default:
			upper = k
		}
		if top = end; veiled || top == 8 {
			top = 8
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

// behind returns the style of the layer in the middle of the cell.
func (a *area) behind(column int) themes.Style {
	if k := a.middle(column); k >= 0 {
		return a.inks[k]
	}
	return themes.Style{}
}

// middle returns the layer in the middle of the cell, -1 if there is none.
func (a *area) middle(column int) int {
	middle := float64(a.row) + .5
	return slices.IndexFunc(a.tops[column][:], func(height float64) bool { return height >= middle })
}
