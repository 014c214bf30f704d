package cli

import (
	"strings"

	"vramscope/cli/config"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// oneWord is clean text without blanks, so that a column of it counts as one
// for awk.
func oneWord(s string) string { return strings.ReplaceAll(text.Clean(s), " ", "_") }

// glyphs are the few signs in text output that are not ASCII.
type glyphs struct{ dash, ellipsis, enDash string }

func glyphsFor(ascii bool) glyphs {
	if ascii {
		return glyphs{dash: "-", ellipsis: "+", enDash: "-"}
	}
	return glyphs{dash: "–", ellipsis: "…", enDash: "–"}
}

// glyphs are the signs for this run's output.
func (p *program) glyphs(s *config.Settings) glyphs {
	return glyphsFor(s.ASCII || !text.UTF8(p.getenv))
}

// bytes is a size, or the dash.
func (g glyphs) bytes(b snapshot.Bytes) string {
	if v, ok := b.Value(); ok {
		return v.String()
	}
	return g.dash
}
