package ui

import (
	"vramscope/themes"
)

// line is one row of cells, written from left to right. It never grows past
// its width, so no panel can disturb its neighbour.
//
// Text put into a line must be clean (no control or escape characters):
// whatever comes from outside goes through clean first.
type line struct {
	buf     []byte
	style   themes.Style // of what was written last; neighbours in one style share one sequence
	used    int          // cells written
	width   int          // cells there are
	scratch [32]byte     // where figures are written before they are placed
}

func newLine(width int) *line { return &line{buf: make([]byte, 0, 2*width+32), width: width} }

// reset empties the line for the next row of the same panel.
func (l *line) reset(width int) {
	l.buf, l.style, l.used, l.width = l.buf[:0], themes.Style{}, 0, width
}

// put writes text in a style, cut hard where the line ends.
func (l *line) put(style themes.Style, text string) {
	cells := cellsOf(text)
	if left := l.width - l.used; cells > left {
		text = cut(text, left, "")
		cells = cellsOf(text)
	}
	if text == "" {
		return
	}
	l.turn(style)
	l.buf = append(l.buf, text...)
	l.used += cells
}

// putFigure writes what one of the append functions gave: one byte a cell,
// apart from glyphs of several bytes, which are single cells.
func (l *line) putFigure(style themes.Style, figure []byte) {
	cells := cellsOfFigure(figure)
	if cells > l.width-l.used {
		l.put(style, string(figure))
		return
	}
	l.turn(style)
	l.buf = append(l.buf, figure...)
	l.used += cells
}

// right writes text at the right edge of a cell of the given width.
func (l *line) right(style themes.Style, text string, cells int) {
	l.skip(cells - cellsOf(text))
	l.put(style, text)
}

// rightFigure is right for what one of the append functions gave.
func (l *line) rightFigure(style themes.Style, figure []byte, cells int) {
	l.skip(cells - cellsOfFigure(figure))
	l.putFigure(style, figure)
}

// left writes text at the left edge of a cell of the given width, cut with
// the ellipsis where it is longer.
func (l *line) left(style themes.Style, text string, cells int, ellipsis string) {
	text = cut(text, min(cells, l.width-l.used), ellipsis)
	start := l.used
	l.put(style, text)
	l.skip(cells - (l.used - start))
}

// repeat writes a single-cell glyph n times.
func (l *line) repeat(style themes.Style, glyph string, n int) {
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

// skip writes n blanks.
func (l *line) skip(n int) {
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

// to skips to a column; where the line is past it already it does nothing.
func (l *line) to(column int) { l.skip(column - l.used) }

// wholly is the line padded to its width, all of it in one style. Only text
// without styles may have been written.
func (l *line) wholly(style themes.Style) string {
	l.to(l.width)
	out := make([]byte, 0, len(l.buf)+16)
	return string(style.Append(out, string(l.buf)))
}

// String pads the line to its width and returns it.
func (l *line) String() string {
	l.to(l.width)
	l.turn(themes.Style{})
	return string(l.buf)
}

func (l *line) turn(style themes.Style) {
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
