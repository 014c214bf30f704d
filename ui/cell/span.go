package cell

import (
	"vramscope/internal/text"
	"vramscope/themes"
)

// Span is a piece of a line in one style. It is an alias, so that literals need no field names.
type Span = struct {
	Style themes.Style
	Text  string
}

func SpansWidth(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += text.Width(s.Text)
	}
	return n
}

// Indented returns a line of spans, after a blank.
func Indented(lk *Appearance, width int, spans ...Span) string {
	l := NewLine(width)
	l.Skip(1)
	l.PutSpans(spans, width, lk.Glyphs.Ellipsis)
	return l.String()
}

// PutSpans writes spans up to a column. A span that reaches beyond it ends in the ellipsis; later spans are left out.
func (l *Line) PutSpans(spans []Span, column int, ellipsis string) {
	for _, part := range spans {
		left := column - l.used
		if left <= 0 {
			return
		}
		if text.Width(part.Text) > left {
			l.Put(part.Style, text.Cut(part.Text, left, ellipsis))
			return
		}
		l.Put(part.Style, part.Text)
	}
}
