package detail

import (
	"slices"
	"strings"
)

// minMap is the minimum height of a map. besideMap shortens the facts for it.
const minMap = 10

// besideMap returns the facts above the map or the holders: all of them, all without blank lines, or only the first.
func (d Panel) besideMap(facts []string, width, height int) []string {
	withoutBlank := slices.DeleteFunc(slices.Clone(facts), func(l string) bool { return l == "" })
	for _, kept := range [][]string{facts, withoutBlank} {
		if height-len(kept) >= minMap {
			return blanked(kept, width)
		}
	}
	return facts[:min(1, max(height-1, 0))]
}

// blanked replaces empty lines by lines of blanks.
func blanked(lines []string, width int) []string {
	for i := range lines {
		if lines[i] == "" {
			lines[i] = strings.Repeat(" ", width)
		}
	}
	return lines
}
