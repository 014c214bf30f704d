package cell

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/text"
)

// Wrap breaks clean text into lines, at blanks where it can. The last of most lines is cut.
func Wrap(s string, cells, most int, ellipsis string) []string {
	var lines []string
	for s != "" && cells > 0 && len(lines) < most {
		if text.Width(s) <= cells {
			return append(lines, s)
		}
		if len(lines) == most-1 {
			return append(lines, text.Cut(s, cells, ellipsis))
		}
		head := text.Cut(s, cells, "")
		if head == "" {
			return append(lines, text.Cut(s, cells, ellipsis)) // a rune wider than the line
		}
		rest := s[len(head):]
		if at := strings.LastIndexByte(head, ' '); rest[0] != ' ' && at > len(head)/2 {
			head, rest = s[:at], s[at:]
		}
		lines = append(lines, head)
		s = strings.TrimLeft(rest, " ")
	}
	return lines
}

// CutWords shortens text to at most so many cells, between two words where that
// leaves at least half of them.
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

// Fitting is the first wording that fits, else the last.
func Fitting(wordings []string, cells int) string {
	if i := slices.IndexFunc(wordings, func(w string) bool { return text.Width(w) <= cells }); i >= 0 {
		return wordings[i]
	}
	return wordings[len(wordings)-1]
}

// Scrolled is text without its first cells, after an ellipsis, for a place of so many
// cells. Text is scrolled only until its end is in view; text that fits stays whole.
func Scrolled(s string, by, room int, ellipsis string) string {
	if by = min(by, text.Width(s)-room); by <= 0 {
		return s
	}
	return ellipsis + ansi.TruncateLeft(s, by+1, "")
}
