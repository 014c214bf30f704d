package cell

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/text"
	"vramscope/themes"
)

// Wrap breaks clean text into at most maxLines lines, at blanks if it can, and cuts the last line.
func Wrap(s string, cells, maxLines int, ellipsis string) []string {
	if s == "" || cells <= 0 || maxLines <= 0 {
		return nil
	}
	lines := strings.Split(ansi.Wrap(s, cells, ""), "\n")
	if len(lines) > maxLines {
		rest := strings.Join(lines[maxLines-1:], " ")
		lines = append(lines[:maxLines-1], text.Cut(rest, cells, ellipsis))
	}
	return lines
}

// Paragraph wraps text to a number of cells. The label stands before the first line, blanks before the others.
func (a *Appearance) Paragraph(label Span, style themes.Style, words string, cells, maxLines int) [][]Span {
	room := text.Width(label.Text)
	var lines [][]Span
	for _, part := range Wrap(words, max(cells-room, 1), maxLines, a.Glyphs.Ellipsis) {
		lines = append(lines, []Span{label, {style, part}})
		label.Text = strings.Repeat(" ", room)
	}
	return lines
}

// CutWords shortens text to a number of cells, between two words if that leaves more than half of the text that fits.
func CutWords(s string, cells int, ellipsis string) string {
	if text.Width(s) <= cells {
		return s
	}
	head := text.Cut(s, max(cells-text.Width(ellipsis), 0), "")
	if rest := s[len(head):]; rest[0] != ' ' {
		if at := strings.LastIndexByte(head, ' '); at > len(head)/2 {
			head = head[:at]
		}
	}
	return text.Cut(strings.TrimRight(head, " ,;:")+ellipsis, cells, "")
}

// Fitting returns the first wording that fits, or else the last one.
func Fitting(wordings []string, cells int) string {
	if i := slices.IndexFunc(wordings, func(w string) bool { return text.Width(w) <= cells }); i >= 0 {
		return wordings[i]
	}
	return wordings[len(wordings)-1]
}

// Scrolled leaves out the first cells of a text that is shown in room cells. The text scrolls only until its end
// is in view.
func Scrolled(s string, by, room int, ellipsis string) string {
	if by = min(by, text.Width(s)-room); by <= 0 {
		return s
	}
	return ellipsis + ansi.TruncateLeft(s, by+1, "")
}
