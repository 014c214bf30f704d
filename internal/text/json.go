package text

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeJSON writes the runes that are not Printable as \u escapes in an encoded JSON document:
// encoding/json escapes neither C1 controls nor characters that have no width or change the direction
// of a line. Line ends stay: they occur only between values.
func EscapeJSON(encoded []byte) []byte {
	if !slices.ContainsFunc(encoded, func(b byte) bool { return b < ' ' && b != '\n' || b > '~' }) || !bytes.ContainsFunc(encoded, escapedInJSON) {
		return encoded
	}
	out := make([]byte, 0, len(encoded)+64)
	for _, r := range string(encoded) {
		switch {
		case !escapedInJSON(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func escapedInJSON(r rune) bool { return r != '\n' && !Printable(r) }
