package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"vramscope/themes"
)

// line is one row of cells, written from left to right. It never grows past
// its width, so no panel can disturb its neighbour.
//
// Text put into a line must be clean (no control or escape characters):
// whatever comes from outside goes through clean first.
type line struct {
	buf   []byte
	used  int // cells written
	width int // cells there are
}

func newLine(width int) *line { return &line{buf: make([]byte, 0, 2*width+32), width: width} }

// put writes text in a style, cut hard where the line ends.
func (l *line) put(style themes.Style, text string) {
	cells := cellsOf(text)
	if left := l.width - l.used; cells > left {
		text = ansi.Truncate(text, max(left, 0), "")
		cells = cellsOf(text)
	}
	l.buf = style.Append(l.buf, text)
	l.used += cells
}

// right writes text at the right edge of a cell of the given width.
func (l *line) right(style themes.Style, text string, cells int) {
	l.skip(cells - cellsOf(text))
	l.put(style, text)
}

// left writes text at the left edge of a cell of the given width, cut with
// the ellipsis where it is longer.
func (l *line) left(style themes.Style, text string, cells int, ellipsis string) {
	text = cut(text, cells, ellipsis)
	start := l.used
	l.put(style, text)
	l.skip(cells - (l.used - start))
}

// skip writes n blanks.
func (l *line) skip(n int) {
	n = min(n, l.width-l.used)
	for range n {
		l.buf = append(l.buf, ' ')
	}
	l.used += max(n, 0)
}

// String pads the line to its width and returns it.
func (l *line) String() string {
	l.skip(l.width - l.used)
	return string(l.buf)
}

// cellsOf measures text in terminal cells. All of the screen's own glyphs are
// single cells; only text from outside can be wider.
func cellsOf(text string) int {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return ansi.StringWidth(text)
		}
	}
	return len(text)
}

// cut shortens text to so many cells, ending in the ellipsis where it had to.
func cut(text string, cells int, ellipsis string) string {
	if cells <= 0 {
		return ""
	}
	if cellsOf(text) <= cells {
		return text
	}
	return ansi.Truncate(text, cells, ellipsis)
}

// clean makes text from outside fit to be shown: control and escape
// characters become '?', blanks stay blanks.
func clean(text string) string {
	ok := true
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c >= 0x7f {
			ok = false
			break
		}
	}
	if ok {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case !printable(r):
			return '?'
		default:
			return r
		}
	}, text)
}
