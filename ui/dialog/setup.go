package dialog

import (
	"slices"
	"time"

	"vramscope/internal/sorted"
	"vramscope/internal/text"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Settings are the values that the setup changes.
type Settings struct {
	Theme    string
	Interval time.Duration // 0: nothing is sampled
	Sort     string        // a column's title
	Reversed bool          // Sort in reversed order
	Lines    bool          // the graph has only curves, no areas
	Window   time.Duration // of the graph; 0: automatic
	Mouse    bool
	Bell     bool
	Columns  []string // of the table, in this order; nil: as many as fit, by importance
}

// Choices are the possible values of the settings.
type Choices struct {
	Intervals, Windows []time.Duration
	Sort               []Item
	Columns            []Column // in their usual order, without the command, which is always last
}

// Setup changes settings, which take effect at once, and chooses the columns of the table.
//
//	  Theme     < vramscope >  colours
//	> Interval  < 1s >         time between samples
//
//	COLUMNS ...
//	  [x] USER      its owner
//
// w writes settings and columns to the configuration file.
type Setup struct {
	list
	settings Settings
	choices  Choices
	columns  []Column // in the user's order
}

// Column is a line of the chooser.
type Column struct {
	Item
	Fixed, Off bool // Fixed: always shown; Off: shown only if it is chosen
	shown      bool
}

// NewSetup shows the settings in force.
func NewSetup(lk *cell.Appearance, now Settings, choices Choices) Setup {
	d := Setup{list: list{look: lk}, settings: now, choices: choices}
	d.columns = d.columnsOf(now.Columns)
	return d
}

// columnsOf returns all columns, the shown ones first: the fixed ones that names lacks, then names. Without names it
// returns the usual order.
func (d Setup) columnsOf(names []string) []Column {
	var first, named, others []Column
	for _, c := range d.choices.Columns {
		chosen := slices.Contains(names, c.Name)
		c.shown = chosen || c.Fixed || names == nil && !c.Off
		switch {
		case chosen:
			named = append(named, c)
		case c.shown || names == nil:
			first = append(first, c)
		default:
			others = append(others, c)
		}
	}
	sorted.Stable(named, func(a, b Column) int { return slices.Index(names, a.Name) - slices.Index(names, b.Name) })
	return slices.Concat(first, named, others)
}

// Settings returns the changed settings.
func (d Setup) Settings() Settings {
	s := d.settings
	s.Columns = nil
	usual := true
	for i, c := range d.columns {
		usual = usual && c.shown != c.Off && c.Item == d.choices.Columns[i].Item
		if c.shown {
			s.Columns = append(s.Columns, c.Name)
		}
	}
	if usual {
		s.Columns = nil
	}
	return s
}

func (d Setup) Size(int) int { return len(d.lines()) + 2 }

// Press implements Overlay. It leaves only help, redraw and suspend to ui: the setup would hide what other keys do.
func (d Setup) Press(name string, _, height int) (Overlay, Outcome) {
	switch d.look.Keys.Match(name, keys.InOverlay, false) {
	case keys.Back, keys.Quit, keys.Setup:
		return d, Closed
	case keys.Help, keys.Redraw, keys.Suspend:
		return d, Ignored
	}
	switch name {
	case "w":
		if d.look.Keys.Can(keys.CanConfigure) {
			return d, Saved
		}
		return d, Handled
	case "left", "right", "enter", "space":
		return d.change(map[bool]int{true: -1, false: 1}[name == "left"])
	case "f7", "K", "[":
		return d.shift(-1, height)
	case "f8", "J", "]":
		return d.shift(1, height)
	case "d":
		d.columns = d.columnsOf(nil)
		return d, Changed
	}
	d.list, _ = d.moved(name, len(d.rows())+len(d.columns), height-2) // the cursor skips the heading
	return d.shown(height), Handled
}

// column returns the index of the column under the cursor, -1 for a setting.
func (d Setup) column() int { return max(d.at-len(d.rows()), -1) }

// change changes the setting under the cursor, or shows or hides the column.
func (d Setup) change(by int) (Overlay, Outcome) {
	i := d.column()
	if i < 0 {
		d.rows()[d.at].change(&d.settings, by)
		return d, Changed
	}
	if d.columns[i].Fixed {
		return d, Handled
	}
	d.columns = slices.Clone(d.columns)
	d.columns[i].shown = !d.columns[i].shown
	return d, Changed
}

// shift moves the column under the cursor to the left or right in the table.
func (d Setup) shift(by, height int) (Overlay, Outcome) {
	i := d.column()
	if i < 0 || i+by < 0 || i+by >= len(d.columns) {
		return d, Handled
	}
	d.columns = slices.Clone(d.columns)
	d.columns[i], d.columns[i+by] = d.columns[i+by], d.columns[i]
	d.at += by
	return d.shown(height), Changed
}

func (d Setup) MenuHints() []keys.Hint {
	hints := []keys.Hint{
		{Position: 1, Rank: 1, Key: "Space", Text: "change"}, {Position: 5, Rank: 2, Key: "Esc", Text: "close"},
		{Position: 2, Rank: 4, Key: "j k", Text: "move"},
	}
	if d.column() >= 0 {
		hints[0].Text = "show, hide"
		hints = append(hints, keys.Hint{Position: 3, Rank: 5, Key: "F7 F8", Text: "reorder"}, keys.Hint{Position: 3, Rank: 6, Key: "d", Text: "usual columns"})
	}
	if d.look.Keys.Can(keys.CanConfigure) {
		hints = append(hints, keys.Hint{Position: 4, Rank: 3, Key: "w", Text: "write to the configuration"})
	}
	sorted.Stable(hints, func(a, b keys.Hint) int { return a.Position - b.Position })
	return hints
}

func (d Setup) Render(width, height int) []string {
	right := "Esc closes"
	if d.look.Keys.Can(keys.CanConfigure) {
		right = "w writes the configuration file, " + right
	}
	d = d.shown(height)
	lines, at := d.lines(), d.at
	d.at = d.lineOf(at)
	lines = d.marked(lines, min(width, dialogWidth)-3)
	return box{look: d.look, title: "Setup", right: right, lines: lines, skip: d.top, snug: true}.Render(width, height)
}

// shown scrolls until the line of the cursor is in view.
func (d Setup) shown(height int) Setup {
	at := d.at
	d.at = d.lineOf(at)
	d.list = d.inView(len(d.lines()), height-2)
	d.at = at
	if at == 0 {
		d.top = 0
	}
	return d
}

// lineOf returns the line of a place of the cursor: two lines stand between settings and columns.
func (d Setup) lineOf(at int) int {
	if at >= len(d.rows()) {
		return at + 2
	}
	return at
}

func (d Setup) lines() [][]cell.Span {
	s := &d.look.Styles
	var lines [][]cell.Span
	for _, row := range d.rows() {
		lines = append(lines, []cell.Span{
			{s.Text, "  " + text.Pad(row.name, nameCells)}, {s.Strong, text.Pad("< "+row.value+" >", valueCells)}, {s.Dim, row.help},
		})
	}
	lines = append(lines, nil, []cell.Span{{s.Header, "COLUMNS"}, {s.Dim, " of the table: Space shows or hides, F7 F8 (K J) reorder, d: usual"}})
	for _, c := range d.columns {
		box, style := "[x] ", s.Text
		if !c.shown {
			box, style = "[ ] ", s.Dim
		}
		lines = append(lines, []cell.Span{{s.Key, "  " + box}, {style, text.Pad(c.Name, nameCells)}, {s.Dim, d.look.Glyphs.Words(c.Help)}})
	}
	return lines
}
