package text

import "strings"

// Wrap breaks text at spaces into lines of a number of cells. A line is longer only if a single word is.
// Every line begins with the spaces at the start of s, followed by hanging in all lines except the first.
func Wrap(s string, cells int, hanging string) (lines []string) {
	indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = indent + word
		case Width(line)+1+Width(word) > cells:
			lines = append(lines, line)
			line = indent + hanging + word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
