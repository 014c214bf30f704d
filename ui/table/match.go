package table

import (
	"strings"
	"unicode/utf8"

	"vramscope/internal/text"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// left does what Line.Left does, with marks on what the user searches for.
func (t *Table) left(l *cell.Line, style themes.Style, s string, cells int) {
	if t.Find == "" {
		l.Left(style, s, cells, t.Appearance.Glyphs.Ellipsis)
		return
	}
	start := l.Used()
	rest := text.Cut(s, min(cells, l.Width()-start), t.Appearance.Glyphs.Ellipsis)
	for rest != "" {
		from, to := indexFold(rest, t.Find)
		if from < 0 {
			l.Put(style, rest)
			break
		}
		l.Put(style, rest[:from])
		l.PutMarked(t.Appearance.Styles.Match, rest[from:to])
		rest = rest[to:]
	}
	l.Skip(cells - (l.Used() - start))
}

// indexFold returns the first place of a part in a text, ignoring case; -1 for none.
func indexFold(s, part string) (from, to int) {
	runes := utf8.RuneCountInString(part)
	for i := range s {
		end := i
		for n := 0; n < runes && end < len(s); n++ {
			_, size := utf8.DecodeRuneInString(s[end:])
			end += size
		}
		if strings.EqualFold(s[i:end], part) {
			return i, end
		}
	}
	return -1, -1
}
