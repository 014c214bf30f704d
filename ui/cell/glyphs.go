package cell

import (
	"strings"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

type Glyphs struct {
	Other, Unknown, Allocated, Fragmented, Returnable, Free string
	Solid, Swatch                                           string // fills every part but free where colours tell the parts apart; a legend has Swatch
	Hatch                                                   string // fills cached memory in a theme that is Hatched
	Pending                                                 string // freed, but a stream may still use it: only on the map of segments
	MIGBorder                                               string
	Dash                                                    string // an unknown value
	Up, Down                                                string // growing, shrinking
	Sawtooth, Leak                                          string
	SortDown, SortUp                                        string
	Rule                                                    string
	Corners                                                 [4]string // ┌ ┐ └ ┘
	Side                                                    string
	Ellipsis                                                string
	EnDash                                                  string   // between the bounds of an interval
	Times                                                   string   // 8×H100
	Spark                                                   []string // lowest first; nil drops the column
	Capacity, Median, Bound                                 string
	ASCII                                                   bool
}

// GlyphsFor returns the glyphs for a terminal: only ASCII, or all.
func GlyphsFor(ascii bool) Glyphs {
	if ascii {
		return ASCIIGlyphs()
	}
	return UnicodeGlyphs()
}

// UnicodeGlyphs are for a terminal with UTF-8.
func UnicodeGlyphs() Glyphs {
	return Glyphs{
		Other: "▓", Unknown: "▄", Allocated: "█", Fragmented: "▒", Returnable: "░", Free: "·", Solid: "▇", Swatch: "■", Hatch: "▚", Pending: "▅",
		MIGBorder: "│", Dash: "–", Up: "↑", Down: "↓", Sawtooth: "~", Leak: "L",
		SortDown: "▼", SortUp: "▲", Rule: "─", Corners: [4]string{"┌", "┐", "└", "┘"}, Side: "│",
		Ellipsis: "…", EnDash: "–", Times: "×",
		Spark:    []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇"},
		Capacity: "═", Median: "-", Bound: "·",
	}
}

// ASCIIGlyphs are for a terminal without UTF-8.
func ASCIIGlyphs() Glyphs {
	return Glyphs{
		Other: "x", Unknown: "o", Allocated: "#", Fragmented: "=", Returnable: "-", Free: ".", Pending: "%",
		MIGBorder: "|", Dash: "-", Up: "^", Down: "v", Sawtooth: "~", Leak: "L",
		SortDown: "v", SortUp: "^", Rule: "-", Corners: [4]string{"+", "+", "+", "+"}, Side: "|",
		Ellipsis: "+", EnDash: "-", Times: "x",
		Capacity: "=", Median: "-", Bound: ".",
		ASCII: true,
	}
}

// Bytes writes an amount, or the dash if it is unknown.
func (g *Glyphs) Bytes(amount snapshot.Bytes) string { return string(AppendBytes(nil, amount, g.Dash)) }

// Words cleans a message, which may have been recorded with glyphs that this terminal lacks.
func (g *Glyphs) Words(s string) string {
	s = text.Clean(s)
	if g.ASCII {
		s = asciiWords.Replace(s)
	}
	return s
}

var asciiWords = strings.NewReplacer("–", "-", "…", "+", "×", "x")
