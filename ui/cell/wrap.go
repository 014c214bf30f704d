package cell

import (
	"strings"

	"vramscope/internal/text"
)

// Wrap breaks clean text into lines of at most cells cells, at blanks where there
// are any. After most lines the text is cut with the ellipsis.
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
