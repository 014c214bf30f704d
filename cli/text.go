package cli

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"vramscope/sampler/snapshot"
)

// cleanText makes text from outside fit for a terminal: control and escape
// characters, and what is invisible or changes direction, become '?'; line
// ends and tabs become blanks.
func cleanText(s string) string {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return strings.Map(cleanRune, s)
		}
	}
	return s
}

func cleanRune(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case r == unicode.ReplacementChar || !unicode.IsPrint(r):
		return '?'
	}
	return r
}

// oneWord is clean text without blanks, so that a column of it counts as one
// for awk.
func oneWord(s string) string { return strings.ReplaceAll(cleanText(s), " ", "_") }

// cells is how wide text is in a terminal.
func cells(s string) int { return ansi.StringWidth(s) }

// glyphs are the few signs in text output that are not ASCII.
type glyphs struct{ dash, ellipsis, enDash string }

func glyphsFor(ascii bool) glyphs {
	if ascii {
		return glyphs{dash: "-", ellipsis: "+", enDash: "-"}
	}
	return glyphs{dash: "–", ellipsis: "…", enDash: "–"}
}

// glyphs are the signs for this run's output.
func (p *program) glyphs(s *settings) glyphs {
	return glyphsFor(s.ascii || !speaksUTF8(p.getenv))
}

// bytes is a size, or the dash.
func (g glyphs) bytes(b snapshot.Bytes) string {
	if v, ok := b.Value(); ok {
		return v.String()
	}
	return g.dash
}

// speaksUTF8 reports whether the locale can show signs outside ASCII, by the
// rules of setlocale(3). One that is not set at all usually was only not
// passed on: then UTF-8 is the better guess.
func speaksUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := getenv(name); value != "" {
			value = strings.ToLower(strings.ReplaceAll(value, "-", ""))
			return strings.Contains(value, "utf8")
		}
	}
	return true
}
