package dialog

import (
	"strings"

	"vramscope/internal/text"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// form is the frame of every question before an action: whom it is about,
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
type form struct {
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
func (f form) height() int {
	n := 2 + len(f.lines) + len(f.choices) + 1
	if len(f.buttons) > 0 && f.aside == nil {
		n++ // a blank line before them
	}
	return n
}

// add wraps a paragraph into lines of so many cells.
func (f *form) add(text string, inner int) {
	const mostLines = 6
	for _, part := range cell.Wrap(text, inner, mostLines, f.look.Glyphs.Ellipsis) {
		f.lines = append(f.lines, []cell.Span{{f.look.Styles.Text, part}})
	}
}

// Render implements Overlay. Where there are too few lines the blank ones go
// first, then those that matter least, then choices that are not the chosen
// one, then text from the end; the choice and the keys stay.
func (f form) Render(width, height int) []string {
	inner := f.fit(height-2, min(width, dialogWidth)-3)
	return box{look: f.look, title: f.title, lines: inner, snug: true}.Render(width, height)
}

// fit lays the parts out in so many lines of so many cells.
func (f form) fit(rows, cells int) [][]cell.Span {
	choices, keys := f.choiceLines(), f.buttonLine(cells)
	needed := len(choices)
	if keys != nil {
		needed++
	}
	lines := f.shortened(rows - needed)
	if over := len(lines) + needed - rows; over > 0 && len(choices) > 1 {
		// Only the chosen one stays of the choices when even that is too much.
		keep := max(len(choices)-over, 1)
		from := min(max(f.chosen-keep/2, 0), len(choices)-keep)
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
		if len(inner)+2 <= rows && f.aside == nil {
			inner = append(inner, nil)
		}
		inner = append(inner, keys)
	}
	return inner
}

// shortened is the lines without blank ones, from the last on, and then without
// those that matter least, as far as that is needed for so many.
func (f form) shortened(most int) [][]cell.Span {
	var order []int
	for i := len(f.lines) - 1; i >= 0; i-- {
		if len(f.lines[i]) == 0 {
			order = append(order, i)
		}
	}
	order = append(order, f.drop...)
	gone := make(map[int]bool)
	for _, i := range order {
		if len(f.lines)-len(gone) <= most {
			break
		}
		gone[i] = true
	}
	if len(gone) == 0 {
		return f.lines
	}
	kept := make([][]cell.Span, 0, len(f.lines))
	for i, l := range f.lines {
		if !gone[i] {
			kept = append(kept, l)
		}
	}
	return kept
}

// choiceLines are "> g     gradual    what it does".
func (f form) choiceLines() [][]cell.Span {
	s := &f.look.Styles
	lines := make([][]cell.Span, 0, len(f.choices))
	names := 0
	for _, c := range f.choices {
		names = max(names, text.Width(c.name)+2)
	}
	for i, c := range f.choices {
		marker, name := "  ", s.Text
		if i == f.chosen {
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
func (f form) buttonLine(cells int) []cell.Span {
	if len(f.buttons) == 0 {
		return nil
	}
	s := &f.look.Styles
	if f.aside != nil {
		const margin = 4
		keys := f.buttonSpans(buttonsApart)
		gap := max(cells-margin-cell.SpansWidth(f.aside)-cell.SpansWidth(keys), 2)
		return append(append(f.aside[:len(f.aside):len(f.aside)], cell.Span{s.Text, strings.Repeat(" ", gap)}), keys...)
	}
	indent, apart := buttonsApart, max(f.apart, buttonsApart)
	keys := f.buttonSpans(apart)
	for indent+cell.SpansWidth(keys) > cells && indent+apart > 2 {
		if apart > 2 {
			apart--
		} else {
			indent--
		}
		keys = f.buttonSpans(apart)
	}
	return append([]cell.Span{{s.Text, strings.Repeat(" ", indent)}}, keys...)
}

// buttonsApart is how many blanks stand between two buttons, and before them.
const buttonsApart = 8

// buttonSpans are the keys and what they do.
func (f form) buttonSpans(apart int) []cell.Span {
	s := &f.look.Styles
	var line []cell.Span
	for i, b := range f.buttons {
		if i > 0 {
			line = append(line, cell.Span{s.Text, strings.Repeat(" ", apart)})
		}
		line = append(line, cell.Span{s.Key, b.key}, cell.Span{s.Text, "  " + b.does})
	}
	return line
}

// hints are the keys of the question for the bottom line: its buttons, then how
// to choose. No other key does anything meanwhile.
func (f form) hints() []keys.Hint {
	hints := make([]keys.Hint, 0, len(f.buttons)+1)
	for _, b := range f.buttons {
		hints = append(hints, keys.Hint{Position: len(hints), Rank: len(hints), Key: b.key, Text: b.does})
	}
	if len(f.choices) > 0 {
		names := make([]string, len(f.choices))
		for i, c := range f.choices {
			names[i] = c.key
		}
		hints = append(hints, keys.Hint{Position: len(hints), Rank: len(hints), Key: strings.Join(names, " "), Text: "choose"})
	}
	return hints
}

// Question is an overlay that is a question: it has the keys to itself, and says
// which they are.
type Question interface {
	Overlay
	Hints() []keys.Hint
}

// choose is which choice a key makes the chosen one: its own key, or ↑ and ↓.
func (f form) choose(name string) int {
	for i, c := range f.choices {
		if c.key == name {
			return i
		}
	}
	switch name {
	case "up", "k":
		return max(f.chosen-1, 0)
	case "down", "j":
		return max(min(f.chosen+1, len(f.choices)-1), 0)
	default:
		return f.chosen
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
