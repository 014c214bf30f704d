// Package themes turns a palette into the one Styles value that the screen is
// drawn with. Colours exist only here; ui names meanings.
//
//	palette (hex or ANSI) ── terminal's colour profile ── Styles (ready escape sequences)
package themes

// Style is a ready escape sequence. It is computed once per theme, because
// rendering a style anew for each cell is what costs time in a frame.
// Styles are comparable: two that look alike are equal.
type Style struct {
	open    string // the SGR sequence that starts it; "" is plain text
	reverse bool   // it is seen on blanks too
}

// reset ends every style.
const reset = "\x1b[m"

// Append writes text in this style to dst.
func (s Style) Append(dst []byte, text string) []byte {
	if s.open == "" || text == "" {
		return append(dst, text...)
	}
	dst = append(dst, s.open...)
	dst = append(dst, text...)
	return append(dst, reset...)
}

// Switch writes to dst what turns text in the style from into text in this
// style: nothing where they are the same. It saves the terminal a sequence
// for each cell of a row in one colour.
func (s Style) Switch(dst []byte, from Style) []byte {
	if s == from {
		return dst
	}
	if from.open != "" {
		dst = append(dst, reset...)
	}
	return append(dst, s.open...)
}

// Reversed reports whether the style is seen on blanks too.
func (s Style) Reversed() bool { return s.reverse }

// Styles is a theme, resolved for a terminal. Every field is a meaning.
type Styles struct {
	Name string
	Dark bool

	Text   Style // figures and commands: the terminal's own colour
	Dim    Style // unknown figures, owners, hints, what is over
	Strong Style // bold
	Header Style // column titles
	Key    Style // a key's name in hints and help
	Title  Style // a panel's title
	Rule   Style // lines of rules and frames
	Cursor Style // the row of the cursor: reverse
	Badge  Style // SIMULATED, READ-ONLY, PAST: reverse

	Alarm   Style // act now: reverse red
	Leak    Style // red, not reversed
	Warning Style // know it: yellow

	Other, Unknown, Allocated, Fragmented, Returnable, Free Style // parts of a bar

	History, Median, Bounds, Capacity Style // curves of the graph
}
