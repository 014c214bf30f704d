package text

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width returns the number of terminal cells that text takes. Escape sequences take none.
func Width(s string) int {
	cells := 0
	for _, r := range s {
		if !OneCell(r) {
			return ansi.StringWidth(s)
		}
		cells++
	}
	return cells
}

// OneCell reports whether a rune counts as one cell: ASCII, and the signs that the screen draws (dots,
// dashes, arrows, boxes, blocks, Braille). A terminal that draws those in two cells gets ASCII only.
func OneCell(r rune) bool {
	return r >= ' ' && r < 0x7f || r == '·' || r >= 0x2010 && r <= 0x2027 || r >= 0x2190 && r <= 0x21ff ||
		r >= 0x2500 && r <= 0x25ff && r != 0x25fd && r != 0x25fe || r >= 0x2800 && r <= 0x28ff
}

// Cut shortens text to a number of cells. If something is cut off, the text ends in the ellipsis.
func Cut(s string, cells int, ellipsis string) string {
	if cells <= 0 {
		return ""
	}
	if Width(s) <= cells {
		return s
	}
	return ansi.Truncate(s, cells, ellipsis)
}

// Pad fills text with spaces up to a number of cells. Wider text stays as it is.
func Pad(s string, cells int) string {
	return s + strings.Repeat(" ", max(cells-Width(s), 0))
}
