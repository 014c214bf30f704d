package dialog

import (
	"slices"
	"strconv"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// form lays out a question before an action:
//
//	┌ title ──────────┐
//	│ lines           │
//	│ > t  choice     │
//	│                 │
//	│  y act  Esc no  │
//	└─────────────────┘
//
// Nothing happens by default: only y acts, Enter never does.
type form struct {
	look    *cell.Appearance
	title   string
	lines   [][]cell.Span
	drop    []int // indices of the lines that are dropped if there is no room, in this order
	choices []choice
	chosen  int
	buttons []button
	apart   int         // blanks between two buttons; 0 is buttonsApart
	aside   []cell.Span // text before the buttons, which then stand at the right
}

// choice is one way to act.
type choice struct {
	key, name, text string
}

type button struct {
	key, does string
}

func nameOf(lk *cell.Appearance, p *snapshot.Process) []cell.Span {
	return []cell.Span{
		{lk.Styles.Strong, "PID " + strconv.Itoa(p.ID.Process.PID)}, {lk.Styles.Text, "  " + cell.UserName(p) + "  " + cell.ShortCommand(p)},
	}
}

// startAndJob returns when a process was started, how long ago, and its job.
func startAndJob(now cell.Moment, p *snapshot.Process) []string {
	var facts []string
	if !p.Started.IsZero() {
		facts = append(facts, "started "+now.Clock(p.Started), quantity.Duration(now.Since(p.Started))+" ago")
	}
	if job := text.Clean(p.Job.String()); job != "" {
		facts = append(facts, job)
	}
	return facts
}

// refuse turns the question into a refusal: it adds the reasons against the action, and only Esc is left.
func (f *form) refuse(title string, inner int, reasons ...string) {
	const maxLines = 3
	f.title = title
	f.lines = append(f.lines, nil)
	for _, reason := range reasons {
		f.lines = append(f.lines, f.look.Paragraph(cell.Span{f.look.Styles.Warning, "  no  "}, f.look.Styles.Text, cell.Limit(reason), inner, maxLines)...)
	}
	f.buttons = []button{{"Esc", "close"}}
}

// dialogWidth is the maximum width of a box that is snug.
const dialogWidth = 80

func (f form) height() int {
	n := 2 + len(f.lines) + len(f.choices) + 1
	if f.aside == nil {
		n++ // a blank line before the buttons
	}
	return n
}

// add wraps a paragraph into lines of inner cells.
func (f *form) add(text string, inner int) {
	const maxLines = 6
	f.lines = append(f.lines, f.look.Paragraph(cell.Span{}, f.look.Styles.Text, text, inner, maxLines)...)
}

// Render draws the form. Without enough room it leaves out the blank lines, then those in drop, then choices, then lines
// from the end. The chosen choice and the keys always stay.
func (f form) Render(width, height int) []string {
	inner := f.fit(height-2, min(width, dialogWidth)-3)
	return box{look: f.look, title: f.title, lines: inner, snug: true}.Render(width, height)
}

func (f form) fit(rows, cells int) [][]cell.Span {
	choices, keys := f.choiceLines(), f.buttonLine(cells)
	needed := len(choices) + 1
	lines := f.shortened(rows - needed)
	if over := len(lines) + needed - rows; over > 0 && len(choices) > 1 {
		keep := max(len(choices)-over, 1)
		from := min(max(f.chosen-keep/2, 0), len(choices)-keep)
		choices = choices[from : from+keep]
		needed = keep + 1
	}
	if len(lines)+needed > rows {
		lines = lines[:max(rows-needed, 0)]
	}
	inner := append(append([][]cell.Span{}, lines...), choices...)
	if len(inner)+2 <= rows && f.aside == nil {
		inner = append(inner, nil)
	}
	return append(inner, keys)
}

func (f form) shortened(room int) [][]cell.Span {
	var order []int
	for i, line := range slices.Backward(f.lines) {
		if len(line) == 0 {
			order = append(order, i)
		}
	}
	order = append(order, f.drop...)
	dropped := make(map[int]bool)
	for _, i := range order {
		if len(f.lines)-len(dropped) <= room {
			break
		}
		dropped[i] = true
	}
	if len(dropped) == 0 {
		return f.lines
	}
	kept := make([][]cell.Span, 0, len(f.lines))
	for i, l := range f.lines {
		if !dropped[i] {
			kept = append(kept, l)
		}
	}
	return kept
}

// choiceLines returns "> g     gradual    what it does".
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

// buttonLine returns "y  flush        Esc  cancel", with smaller gaps in less room.
func (f form) buttonLine(cells int) []cell.Span {
	s := &f.look.Styles
	if f.aside != nil {
		const margin = 4
		keys := f.buttonSpans(buttonsApart)
		gap := max(cells-margin-cell.SpansWidth(f.aside)-cell.SpansWidth(keys), 2)
		return append(append(slices.Clip(f.aside), cell.Span{s.Text, strings.Repeat(" ", gap)}), keys...)
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

// buttonsApart is the number of blanks between two buttons, and before them.
const buttonsApart = 8

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

// Question is an overlay that asks before an action. It gets every key except Ctrl-C.
type Question interface {
	Overlay
	Hints() []keys.Hint
}

// choose returns the index of the choice once a key was pressed: the key of a choice, ↑ or ↓.
func (f form) choose(name string) int {
	if i := slices.IndexFunc(f.choices, func(c choice) bool { return c.key == name }); i >= 0 {
		return i
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

// refuses reports whether a key closes a question without an action. Enter neither refuses nor confirms: to hold Enter
// down does no harm.
func refuses(name string) bool {
	return slices.Contains([]string{"esc", "n", "N", "q", "f10"}, name)
}
