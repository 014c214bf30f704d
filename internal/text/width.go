package text

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width is how many terminal cells text takes. Escape sequences take none.
func Width(s string) int {
	for i := range len(s) {
		if !plain(s[i]) {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// Cut shortens text to at most so many cells. Where something is cut off, the
// ellipsis is the last of them.
func Cut(s string, cells int, ellipsis string) string {
	if cells <= 0 {
		return ""
	}
	if Width(s) <= cells {
		return s
	}
	return ansi.Truncate(s, cells, ellipsis)
}

// Pad fills text with spaces to so many cells. Wider text stays as it is.
func Pad(s string, cells int) string {
	return s + strings.Repeat(" ", max(cells-Width(s), 0))
}
