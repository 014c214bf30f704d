package themes

import (
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Style draws one meaning; zero is plain text. Styles of one theme that look alike are equal.
type Style struct{ *drawn }

// drawn is a style with its escape sequence, because rendering a style for each cell is slow.
type drawn struct {
	style lipgloss.Style
	open  string // the sequence that starts the style

	onBlanks bool
}

// Lipgloss returns the same style for text that lipgloss lays out.
func (s Style) Lipgloss() lipgloss.Style {
	if s.drawn == nil {
		return lipgloss.NewStyle()
	}
	return s.style
}

// Append writes text in this style to dst.
func (s Style) Append(dst []byte, text string) []byte {
	if s.drawn == nil || text == "" {
		return append(dst, text...)
	}
	dst = append(dst, s.open...)
	dst = append(dst, text...)
	return append(dst, ansi.ResetStyle...)
}

// Switch appends the sequences that end the style from and start s, or nothing if they are equal. A row in one
// colour then needs no sequence for each cell.
func (s Style) Switch(dst []byte, from Style) []byte {
	if s == from {
		return dst
	}
	if from.drawn != nil {
		dst = append(dst, ansi.ResetStyle...)
	}
	if s.drawn != nil {
		dst = append(dst, s.open...)
	}
	return dst
}

// OnBlanks reports whether the style also shows on blanks: it is reversed, or has a background.
func (s Style) OnBlanks() bool { return s.drawn != nil && s.onBlanks }

// Styles is a theme, resolved for a terminal.
type Styles struct {
	Dark bool

	Text   Style // figures and commands: the terminal's own colour
	Dim    Style // unknown figures, owners, hints, ended rows
	Strong Style // bold
	Header Style // column titles
	Key    Style // a key's name in hints and help
	Title  Style // a panel's title
	Rule   Style // lines of rules and frames
	Cursor Style // the row of the cursor: reverse
	Badge  Style // SIMULATED, READ-ONLY, PAST: reverse
	Match  Style // text that find marks: reverse

	Alarm   Style // something to act on now: reverse, in red if the theme has colours
	Leak    Style // bold, in red if the theme has colours
	Warning Style // something to know

	Other, Unknown, Allocated, Fragmented, Returnable, Free Style // parts of a bar

	AllocatedName Style // text about allocated memory

	Owners [6]Style // users' colours, where bars are divided by user

	// Solid means that colours tell the parts apart; otherwise textures do. Hatched means that both do, and
	// that the texture of cached memory must show enough of its colour.
	Solid, Hatched bool

	History, Median, Bounds, Capacity Style // curves of the graph

	// Faded is for uncertain parts: in the forecast, and where memory was used during only a part of a column.
	// Veil is for the forecast's interval, from the median outwards. If Veil is zero, the graph fades nothing.
	Faded [5]Style
	Veil  [3]Style

	edges map[edge]Style
}

// edge is a cell in which one area ends and another begins.
type edge struct{ lower, upper Style }

// Edge returns the style of a cell whose lower part has the colour of lower and whose upper part has the
// colour of upper. The cell is drawn with a glyph that fills it from below.
func (s *Styles) Edge(lower, upper Style) Style {
	if style, ok := s.edges[edge{lower, upper}]; ok {
		return style
	}
	return lower
}

// joinAreas makes the edges between the areas of a graph.
func (s *Styles) joinAreas(p palette) {
	areas := append([]Style{s.Other, s.Unknown, s.Allocated, s.Fragmented, s.Returnable}, append(s.Faded[:], s.Veil[:]...)...)
	s.edges = make(map[edge]Style)
	for _, lower := range append(areas, s.Median) {
		for _, upper := range areas {
			if lower != upper {
				s.edges[edge{lower, upper}] = p.style(lower.Lipgloss().Background(upper.Lipgloss().GetForeground()))
			}
		}
	}
}
