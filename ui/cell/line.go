package cell

import (
	"unicode/utf8"

	"vramscope/internal/text"
	"vramscope/themes"
)

// Line is a row of cells, written from left to right. It never exceeds its width. Text from outside must go through
// text.Clean before.
type Line struct {
	buf     []byte
	style   themes.Style // of the text written last: text in the same style needs no sequence
	used    int          // cells written
	width   int          // cells of the line
	marks   []mark       // the pieces that In writes in its second style
	scratch [32]byte     // for figures before they are placed
}

// mark is a piece of a line, in bytes.
type mark struct{ from, to int }

func (l *Line) Used() int { return l.used }

func (l *Line) Width() int { return l.width }

// Scratch returns an empty buffer for the next figure.
func (l *Line) Scratch() []byte { return l.scratch[:0] }

// Unpadded returns the line without padding.
func (l *Line) Unpadded() string { return string(l.buf) }

func NewLine(width int) *Line { return &Line{buf: make([]byte, 0, 2*width+32), width: width} }

// Reset empties the line, to be used for the next row.
func (l *Line) Reset(width int) {
	l.buf, l.style, l.used, l.width, l.marks = l.buf[:0], themes.Style{}, 0, width, l.marks[:0]
}

// Put writes text in a style, cut where the line ends.
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

// PutMarked does what Put does, and marks the text: In writes it in its second style.
func (l *Line) PutMarked(style themes.Style, s string) {
	from := len(l.buf)
	l.Put(style, s)
	l.marks = append(l.marks, mark{from, len(l.buf)})
}

func (l *Line) Marked() bool { return len(l.marks) > 0 }

// Right writes text to the right edge of a number of cells.
func (l *Line) Right(style themes.Style, s string, cells int) {
	l.Skip(cells - text.Width(s))
	l.Put(style, s)
}

// RightFigure does what Right does, for a figure, whose runes are one cell each.
func (l *Line) RightFigure(style themes.Style, figure []byte, cells int) {
	own := utf8.RuneCount(figure)
	l.Skip(cells - own)
	if own > l.width-l.used {
		l.Put(style, string(figure))
		return
	}
	l.turn(style)
	l.buf = append(l.buf, figure...)
	l.used += own
}

// Figure does what RightFigure does, after a blank. With 0 cells it writes nothing.
func (l *Line) Figure(style themes.Style, figure []byte, cells int) {
	if cells > 0 {
		l.Skip(1)
		l.RightFigure(style, figure, cells)
	}
}

// Left writes text to the left edge of a number of cells, cut with the ellipsis.
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
		l.buf = append(l.buf, glyph...) // in place, because assigning another slice is slow while garbage is collected
	}
	l.used += n
}

func (l *Line) Skip(n int) {
	n = min(n, l.width-l.used)
	if n <= 0 {
		return
	}
	if l.style.OnBlanks() {
		l.turn(themes.Style{})
	}
	for range n {
		l.buf = append(l.buf, ' ')
	}
	l.used += n
}

// To skips to a column; it does nothing where the line is past it.
func (l *Line) To(column int) { l.Skip(column - l.used) }

// In returns the padded line in one style, and the marked parts in a second style. Only plain text
// may have been written.
func (l *Line) In(style, marked themes.Style) string {
	l.To(l.width)
	out, at := make([]byte, 0, len(l.buf)+16), 0
	for _, m := range l.marks {
		out = style.Append(out, string(l.buf[at:m.from]))
		out = marked.Append(out, string(l.buf[m.from:m.to]))
		at = m.to
	}
	return string(style.Append(out, string(l.buf[at:])))
}

// String returns the padded line.
func (l *Line) String() string {
	l.To(l.width)
	l.turn(themes.Style{})
	return string(l.buf)
}

func (l *Line) turn(style themes.Style) {
	if style != l.style {
		l.buf, l.style = style.Switch(l.buf, l.style), style
	}
}
