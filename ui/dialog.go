package ui

import (
	"strings"

	"vramscope/internal/text"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// dialog is the frame of every question before an action: whom it is about,
// what to choose from, what will happen, and the keys. It is drawn over the
// table only, so the bars are seen to change.
//
//	┌ title ──────────┐
//	│ lines           │
//	│ > t  choice     │
//	│                 │
//	│  y act  Esc no  │
//	└─────────────────┘
//
// The default is always no: y acts, Enter never does.
type dialog struct {
	look    *cell.Appearance
	title   string
	lines   [][]cell.Span
	drop    []int // lines that go first where there is no room, in this order
	choices []choice
	chosen  int
	buttons []button
	apart   int         // blanks between two buttons; 0 is as many as the drawings have
	aside   []cell.Span // what stands before the buttons, which then go to the right
}

// choice is one of several ways to act.
type choice struct {
	key, name, text string
}

// button is a key and what it does.
type button struct {
	key, does string
}

// A dialog is as wide as the drawings where there is room, and centred.
const dialogWidth = 80

// height is how many lines the dialog has at best.
func (d dialog) height() int {
	n := 2 + len(d.lines) + len(d.choices) + 1
	if len(d.buttons) > 0 && d.aside == nil {
		n++ // a blank line before them
	}
	return n
}

// add wraps a paragraph into lines of so many cells.
func (d *dialog) add(text string, inner int) {
	const mostLines = 6
	for _, part := range cell.Wrap(text, inner, mostLines, d.look.Glyphs.Ellipsis) {
		d.lines = append(d.lines, []cell.Span{{d.look.Styles.Text, part}})
	}
}

// Render implements panel. Where there are too few lines the blank ones go
// first, then those that matter least, then choices that are not the chosen
// one, then text from the end; the choice and the keys stay.
func (d dialog) Render(width, height int) []string {
	if width <= 0 || height <= 0 {
		return cell.Blank(max(width, 0), height)
	}
	wide := min(width, dialogWidth)
	inner := d.fit(height-2, wide-3)
	box := boxed(d.look, d.title, "", inner, 0, wide, min(height, len(inner)+2))
	left := (width - wide) / 2
	for i, text := range box {
		l := cell.NewLine(left)
		box[i] = l.String() + text + cell.NewLine(width-wide-left).String()
	}
	return cell.Fill(box, width, height)
}

// fit lays the parts out in so many lines of so many cells.
func (d dialog) fit(rows, cells int) [][]cell.Span {
	choices, keys := d.choiceLines(), d.buttonLine(cells)
	needed := len(choices)
	if keys != nil {
		needed++
	}
	lines := d.shortened(rows - needed)
	if over := len(lines) + needed - rows; over > 0 && len(choices) > 1 {
		// Only the chosen one stays of the choices when even that is too much.
		keep := max(len(choices)-over, 1)
		from := min(max(d.chosen-keep/2, 0), len(choices)-keep)
		choices = choices[from : from+keep]
		needed = keep
		if keys != nil {
			needed++
		}
	}
	if len(lines)+needed > rows {
		lines = lines[:max(rows-needed, 0)]
	}
	inner := append(append([][]cell.Span{}, lines...), choices...)
	if keys != nil {
		if len(inner)+2 <= rows && d.aside == nil {
			inner = append(inner, nil)
		}
		inner = append(inner, keys)
	}
	return inner
}

// shortened is the lines without blank ones, from the last on, and then without
// those that matter least, as far as that is needed for so many.
func (d dialog) shortened(most int) [][]cell.Span {
	var order []int
	for i := len(d.lines) - 1; i >= 0; i-- {
		if len(d.lines[i]) == 0 {
			order = append(order, i)
		}
	}
	order = append(order, d.drop...)
	gone := make(map[int]bool)
	for _, i := range order {
		if len(d.lines)-len(gone) <= most {
			break
		}
		gone[i] = true
	}
	if len(gone) == 0 {
		return d.lines
	}
	kept := make([][]cell.Span, 0, len(d.lines))
	for i, l := range d.lines {
		if !gone[i] {
			kept = append(kept, l)
		}
	}
	return kept
}

// choiceLines are "> g     gradual    what it does".
func (d dialog) choiceLines() [][]cell.Span {
	s := &d.look.Styles
	lines := make([][]cell.Span, 0, len(d.choices))
	names := 0
	for _, c := range d.choices {
		names = max(names, text.Width(c.name)+2)
	}
	for i, c := range d.choices {
		marker, name := "  ", s.Text
		if i == d.chosen {
			marker, name = "> ", s.Strong
		}
		lines = append(lines, []cell.Span{
			{s.Strong, marker}, {s.Key, text.Pad(c.key, 6)}, {name, text.Pad(c.name, names)}, {s.Text, c.text},
		})
	}
	return lines
}

// buttonLine is "y  flush        Esc  cancel", indented as the drawings have
// it; nearer to each other where they would not fit.
func (d dialog) buttonLine(cells int) []cell.Span {
	if len(d.buttons) == 0 {
		return nil
	}
	s := &d.look.Styles
	if d.aside != nil {
		const margin = 4
		keys := d.buttonSpans(buttonsApart)
		gap := max(cells-margin-cell.SpansWidth(d.aside)-cell.SpansWidth(keys), 2)
		return append(append(d.aside[:len(d.aside):len(d.aside)], cell.Span{s.Text, strings.Repeat(" ", gap)}), keys...)
	}
	indent, apart := buttonsApart, max(d.apart, buttonsApart)
	keys := d.buttonSpans(apart)
	for indent+cell.SpansWidth(keys) > cells && indent+apart > 2 {
		if apart > 2 {
			apart--
		} else {
			indent--
		}
		keys = d.buttonSpans(apart)
	}
	return append([]cell.Span{{s.Text, strings.Repeat(" ", indent)}}, keys...)
}

// buttonsApart is how many blanks stand between two buttons, and before them.
const buttonsApart = 8

// buttonSpans are the keys and what they do.
func (d dialog) buttonSpans(apart int) []cell.Span {
	s := &d.look.Styles
	var line []cell.Span
	for i, b := range d.buttons {
		if i > 0 {
			line = append(line, cell.Span{s.Text, strings.Repeat(" ", apart)})
		}
		line = append(line, cell.Span{s.Key, b.key}, cell.Span{s.Text, "  " + b.does})
	}
	return line
}

// hints are the keys of the question for the bottom line: its buttons, then how
// to choose. No other key does anything meanwhile.
func (d dialog) hints() []keys.Hint {
	hints := make([]keys.Hint, 0, len(d.buttons)+1)
	for _, b := range d.buttons {
		hints = append(hints, keys.Hint{Position: len(hints), Rank: len(hints), Key: b.key, Text: b.does})
	}
	if len(d.choices) > 0 {
		names := make([]string, len(d.choices))
		for i, c := range d.choices {
			names[i] = c.key
		}
		hints = append(hints, keys.Hint{Position: len(hints), Rank: len(hints), Key: strings.Join(names, " "), Text: "choose"})
	}
	return hints
}

// asking is an overlay that is a question: it has the keys to itself, and says
// which they are.
type asking interface {
	overlay
	hints() []keys.Hint
}

// choose is which choice a key makes the chosen one: its own key, or ↑ and ↓.
func (d dialog) choose(name string) int {
	for i, c := range d.choices {
		if c.key == name {
			return i
		}
	}
	switch name {
	case "up", "k":
		return max(d.chosen-1, 0)
	case "down", "j":
		return max(min(d.chosen+1, len(d.choices)-1), 0)
	default:
		return d.chosen
	}
}

// refuses reports whether a key closes a dialog without doing anything. Enter
// does neither: who holds it down confirms nothing.
func refuses(name string) bool {
	switch name {
	case "esc", "n", "N", "q", "f10":
		return true
	default:
		return false
	}
}
