package cell

import (
	"strings"

	"vramscope/internal/text"
	"vramscope/themes"
)

// TitledRule returns the line above a panel: "── title ──────── right ──". If the line is too long, right is left out,
// and then the title is cut.
func TitledRule(lk *Appearance, width int, title string, style themes.Style, right []Span) string {
	s, rule := &lk.Styles, lk.Glyphs.Rule
	l := NewLine(width)
	l.Put(s.Rule, strings.Repeat(rule, 2))
	l.Put(s.Text, " ")
	l.Put(style, text.Cut(title, width-6, lk.Glyphs.Ellipsis))
	l.Put(s.Text, " ")
	tail := 0
	if len(right) > 0 {
		tail = SpansWidth(right) + 4
		if l.used+tail+1 > width {
			tail = 0
		}
	}
	l.Put(s.Rule, strings.Repeat(rule, max(width-l.used-tail, 0)))
	if tail > 0 {
		l.Put(s.Text, " ")
		l.PutSpans(right, width, "")
		l.Put(s.Text, " ")
		l.Put(s.Rule, strings.Repeat(rule, 2))
	}
	return l.String()
}

// Fill cuts or pads a list of lines to height.
func Fill(lines []string, width, height int) []string {
	if height <= 0 {
		return nil
	}
	if len(lines) > height {
		return lines[:height]
	}
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines
}

// Blank returns height blank lines.
func Blank(width, height int) []string { return Fill(nil, width, height) }
