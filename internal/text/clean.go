package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Clean replaces line ends and tabs with spaces, and other runes that are not Printable with '?'.
func Clean(s string) string {
	for i := range len(s) {
		if !plain(s[i]) {
			return strings.Map(shown, s)
		}
	}
	return s
}

// Strip removes runes that are not Printable, and space at both ends.
func Strip(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !Printable(r) {
			return -1
		}
		return r
	}, s))
}

func shown(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case !Printable(r):
		return '?'
	}
	return r
}

// plain reports whether a byte is a Printable ASCII character.
func plain(c byte) bool { return c >= 0x20 && c < 0x7f }

// Printable reports whether a rune may be shown: no control characters, joiners, combining
// marks or direction marks, and nothing whose width depends on its neighbours. Terminals
// disagree about those, and every cell after one would be misplaced.
func Printable(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return plain(byte(r))
	case r >= 0xa1 && r <= 0x24f:
		return r != 0xad // terminals disagree about the soft hyphen
	case r == unicode.ReplacementChar || !unicode.IsPrint(r):
		return false
	case r >= 0x4e00 && r <= 0x9fff:
		return true
	}
	alone := ansi.StringWidth(string(r))
	return alone > 0 && ansi.StringWidth("a"+string(r)+string(r)+"a") == 2+2*alone
}
