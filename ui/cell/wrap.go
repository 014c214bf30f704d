package cell

import "github.com/charmbracelet/x/ansi"

// Wrap breaks clean text into lines of at most so many cells, at blanks
// where there are any, and at most so many lines: the last one then ends in
// the ellipsis.
func Wrap(text string, cells, most int, ellipsis string) []string {
	var lines []string
	for text != "" && cells > 0 && len(lines) < most {
		if Width(text) <= cells {
			return append(lines, text)
		}
		if len(lines) == most-1 {
			return append(lines, Cut(text, cells, ellipsis))
		}
		head := ansi.Truncate(text, cells, "")
		if head == "" {
			return append(lines, Cut(text, cells, ellipsis)) // a rune wider than the line
		}
		rest := text[len(head):]
		if at := lastBlank(head); rest[0] != ' ' && at > len(head)/2 {
			head, rest = text[:at], text[at:]
		}
		lines = append(lines, head)
		for rest != "" && rest[0] == ' ' {
			rest = rest[1:]
		}
		text = rest
	}
	return lines
}

func lastBlank(text string) int {
	for i := len(text) - 1; i > 0; i-- {
		if text[i] == ' ' {
			return i
		}
	}
	return -1
}
