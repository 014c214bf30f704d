package cell

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Width measures text in terminal cells. All of the screen's own glyphs are
// single cells; only text from outside can be wider.
func Width(text string) int {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return ansi.StringWidth(text)
		}
	}
	return len(text)
}

// Cut shortens text to so many cells, ending in the ellipsis where it had to.
func Cut(text string, cells int, ellipsis string) string {
	if cells <= 0 {
		return ""
	}
	if Width(text) <= cells {
		return text
	}
	return ansi.Truncate(text, cells, ellipsis)
}

// Pad is text with blanks to a width.
func Pad(text string, cells int) string {
	return text + strings.Repeat(" ", max(cells-Width(text), 0))
}

// Clean makes text from outside fit to be shown: what is not printable
// becomes '?', line ends and tabs become blanks. It returns the text itself
// where there is nothing to clean.
func Clean(text string) string {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c >= 0x7f {
			return cleaned(text)
		}
	}
	return text
}

func cleaned(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case !Printable(r):
			return '?'
		default:
			return r
		}
	}, text)
}

// Printable reports whether a rune from outside may be shown: no control
// characters, no joiners, no marks that change direction, and nothing that
// changes its width beside a neighbour, because terminals disagree about
// those and every cell after it would stand wrong.
func Printable(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= 0x20 && r < 0x7f
	case r >= 0xa1 && r <= 0x24f:
		return r != 0xad // the soft hyphen is shown by some and not by others
	case r == unicode.ReplacementChar || !unicode.IsPrint(r):
		return false
	case r >= 0x4e00 && r <= 0x9fff:
		return true
	}
	alone := ansi.StringWidth(string(r))
	return alone > 0 && ansi.StringWidth("a"+string(r)+string(r)+"a") == 2+2*alone
}
