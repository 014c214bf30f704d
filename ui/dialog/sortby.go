package dialog

import (
	"slices"

	"vramscope/internal/text"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Item is a line of a menu: a name and what it means.
type Item struct{ Name, Help string }

// SortBy is the menu of the columns that the table can be sorted by.
//
//	> v USED     its memory on the GPU, by the driver
//	    ALLOC    allocated: memory in live blocks
type SortBy struct {
	list
	columns  []Item
	now      string // the column by which the table is sorted
	reversed bool
}

// NewSortBy begins at the column by which the table is sorted.
func NewSortBy(lk *cell.Appearance, columns []Item, now string, reversed bool) SortBy {
	at := slices.IndexFunc(columns, func(c Item) bool { return c.Name == now })
	return SortBy{list: list{look: lk, at: max(at, 0)}, columns: columns, now: now, reversed: reversed}
}

// Column returns the chosen column. Choosing the present column reverses its order.
func (d SortBy) Column() (name string, reversed bool) {
	name = d.columns[d.at].Name
	return name, name == d.now && !d.reversed
}

func (d SortBy) Size(int) int { return len(d.columns) + 2 }

func (d SortBy) Press(name string, _, height int) (Overlay, Outcome) {
	id := d.look.Keys.Match(name, keys.InOverlay, false)
	switch {
	case len(d.columns) == 0, id == keys.Back, id == keys.Quit, name == "f6", name == "o":
		return d, Closed
	case name == "enter" || name == "space":
		return d, Chosen
	}
	var moved bool
	d.list, moved = d.moved(name, len(d.columns), height-2)
	return d, map[bool]Outcome{true: Handled, false: Ignored}[moved]
}

func (d SortBy) MenuHints() []keys.Hint {
	return []keys.Hint{
		{Position: 1, Rank: 1, Key: "Enter", Text: "sort"}, {Position: 2, Rank: 3, Key: "j k", Text: "move"},
		{Position: 3, Rank: 2, Key: "Esc", Text: "close"},
	}
}

func (d SortBy) Render(width, height int) []string {
	d.list = d.inView(len(d.columns), height-2)
	inner := min(width, dialogWidth) - 3
	b := box{look: d.look, title: "Sort by", right: "Enter sorts, again reverses, Esc closes", lines: d.marked(d.lines(), inner), skip: d.top, snug: true}
	return b.Render(width, height)
}

func (d SortBy) lines() [][]cell.Span {
	s, g := &d.look.Styles, &d.look.Glyphs
	lines := make([][]cell.Span, len(d.columns))
	for i, c := range d.columns {
		mark, style := "  ", s.Text
		if c.Name == d.now {
			mark, style = g.SortDown+" ", s.Strong
			if d.reversed {
				mark = g.SortUp + " "
			}
		}
		lines[i] = []cell.Span{{style, mark}, {style, text.Pad(c.Name, nameCells)}, {s.Dim, g.Words(c.Help)}}
	}
	return lines
}

// nameCells is the width of a name in a menu and in the help.
const nameCells = 10
