package ui

import (
	"strings"

	"vramscope/themes"
)

// titledRule is the line above a panel: "── title ──────── right ──". The
// right part is left out where both do not fit, the title is cut last.
func titledRule(lk *look, width int, title string, style themes.Style, right []span) string {
	s, rule := &lk.styles, lk.glyphs.rule
	l := newLine(width)
	l.put(s.Rule, strings.Repeat(rule, 2))
	l.put(s.Text, " ")
	l.put(style, cut(title, width-6, lk.glyphs.ellipsis))
	l.put(s.Text, " ")
	tail := 0
	if len(right) > 0 {
		tail = spanCells(right) + 4
		if l.used+tail+1 > width {
			tail = 0
		}
	}
	l.put(s.Rule, strings.Repeat(rule, max(width-l.used-tail, 0)))
	if tail > 0 {
		l.put(s.Text, " ")
		for _, part := range right {
			l.put(part.style, part.text)
		}
		l.put(s.Text, " ")
		l.put(s.Rule, strings.Repeat(rule, 2))
	}
	return l.String()
}

// filled makes lines exactly height long: the surplus goes, blanks come.
func filled(lines []string, width, height int) []string {
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

// blankLines is an empty rectangle.
func blankLines(width, height int) []string { return filled(nil, width, height) }
