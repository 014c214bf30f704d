package cell

import (
	"slices"
	"strings"

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

// Fitting is the first wording that fits, else the last.
func Fitting(wordings []string, cells int) string {
	if i := slices.IndexFunc(wordings, func(w string) bool { return text.Width(w) <= cells }); i >= 0 {
		return wordings[i]
	}
	return wordings[len(wordings)-1]
}
