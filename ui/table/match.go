package table

import (
	"strings"
	"unicode/utf8"

	"vramscope/internal/text"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// left does what Line.Left does, and marks the matches of Find.
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

// indexFold returns where a part first occurs in s, in bytes and ignoring case; -1 for nowhere.
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
