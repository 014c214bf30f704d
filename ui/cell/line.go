package cell

import (
	"vramscope/internal/text"
	"vramscope/themes"
)

// Line is one row of cells, written from left to right. It never grows past
// its width, so no panel can disturb its neighbour.
//
// Text put into a line must be clean (no control or escape characters):
// whatever comes from outside goes through clean first.
type Line struct {
	buf     []byte
	style   themes.Style // of what was written last; neighbours in one style share one sequence
	used    int          // cells written
	width   int          // cells there are
	scratch [32]byte     // where figures are written before they are placed
}

// Used is how many cells have been written.
func (l *Line) Used() int { return l.used }

// Width is how many cells there are.
func (l *Line) Width() int { return l.width }

// Scratch is where a figure is written before it is placed.
func (l *Line) Scratch() []byte { return l.scratch[:0] }

// Unpadded is the line without blanks after what was written last.
func (l *Line) Unpadded() string { return string(l.buf) }

func NewLine(width int) *Line { return &Line{buf: make([]byte, 0, 2*width+32), width: width} }

// Reset empties the line for the next row of the same panel.
func (l *Line) Reset(width int) {
	l.buf, l.style, l.used, l.width = l.buf[:0], themes.Style{}, 0, width
}

// Put writes text in a style, cut hard where the line ends.
func (l *Line) Put(style themes.Style, s string) {
	cells := text.Width(s)
	if left := l.width - l.used; cells > left {
		s = text.Cut(s, left, "")
		cells = text.Width(s)
	}
	if s == "" {
		return
	}
	l.turn(style)
	l.buf = append(l.buf, s...)
	l.used += cells
}

// putFigure writes what one of the append functions gave: one byte a cell,
// apart from glyphs of several bytes, which are single cells.
func (l *Line) putFigure(style themes.Style, figure []byte) {
	cells := cellsOfFigure(figure)
	if cells > l.width-l.used {
		l.Put(style, string(figure))
		return
	}
	l.turn(style)
	l.buf = append(l.buf, figure...)
	l.used += cells
}

// Right writes text at the right edge of a cell of the given width.
func (l *Line) Right(style themes.Style, s string, cells int) {
	l.Skip(cells - text.Width(s))
	l.Put(style, s)
}

// RightFigure is right for what one of the append functions gave.
func (l *Line) RightFigure(style themes.Style, figure []byte, cells int) {
	l.Skip(cells - cellsOfFigure(figure))
	l.putFigure(style, figure)
}

// Left writes text at the left edge of a cell of the given width, cut with
// the ellipsis where it is longer.
func (l *Line) Left(style themes.Style, s string, cells int, ellipsis string) {
	s = text.Cut(s, min(cells, l.width-l.used), ellipsis)
	start := l.used
	l.Put(style, s)
	l.Skip(cells - (l.used - start))
}

// Repeat writes a single-cell glyph n times.
func (l *Line) Repeat(style themes.Style, glyph string, n int) {
	n = min(n, l.width-l.used)
	if n <= 0 {
		return
	}
	l.turn(style)
	for range n {
		l.buf = append(l.buf, glyph...)
	}
	l.used += n
}

// Skip writes n blanks.
func (l *Line) Skip(n int) {
	n = min(n, l.width-l.used)
	if n <= 0 {
		return
	}
	if l.style.Reversed() {
		l.turn(themes.Style{})
	}
	for range n {
		l.buf = append(l.buf, ' ')
	}
	l.used += n
}

// To skips to a column; where the line is past it already it does nothing.
func (l *Line) To(column int) { l.Skip(column - l.used) }

// In is the line padded to its width, all of it in one style. Only text
// without styles may have been written.
func (l *Line) In(style themes.Style) string {
	l.To(l.width)
	out := make([]byte, 0, len(l.buf)+16)
	return string(style.Append(out, string(l.buf)))
}

// String pads the line to its width and returns it.
func (l *Line) String() string {
	l.To(l.width)
	l.turn(themes.Style{})
	return string(l.buf)
}

func (l *Line) turn(style themes.Style) {
	l.buf = style.Switch(l.buf, l.style)
	l.style = style
}

// cellsOfFigure counts the runes: figures have no wide ones.
func cellsOfFigure(figure []byte) int {
	cells := 0
	for _, b := range figure {
		if b&0xc0 != 0x80 {
			cells++
		}
	}
	return cells
}
