package dialog

import (
	"slices"
	"strings"

	"vramscope/internal/text"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Help lists the bound keys and the signs. Its second page explains every column and mark.
type Help struct {
	page
	columns []Section
	second  bool // the second page
}

// Section is a part of the second page.
type Section struct {
	Title string
	Items []Item
}

// NewHelp opens the help at the keys. The sections explain the columns.
func NewHelp(lk *cell.Appearance, columns ...Section) Help {
	return Help{page: page{look: lk}, columns: columns}
}

func (h Help) Size(width int) (extent, int) { return BelowHeader, len(h.content(width)) + 2 }

func (h Help) Press(name string, width, height int) (Overlay, Outcome) {
	turns := name == "tab" || name == "right" && !h.second || name == "left" && h.second
	switch help := h.look.Keys.Match(name, keys.InOverlay, false) == keys.Help; {
	case turns, help && !h.second:
		h.second, h.top = !h.second, 0
		return h, Handled
	case help:
		return h, Closed
	}
	var out Outcome
	h.page, out = h.press(name, len(h.content(width)), height-2)
	return h, out
}

func (h Help) Render(width, height int) []string {
	title, other := "keys and signs", "Tab columns and marks, "
	if h.second {
		title, other = "columns and marks", "Tab keys, "
	}
	b := h.box(title, h.content(width), height)
	b.right, b.snug = other+b.right, !h.second
	named := "vramscope " + text.Clean(h.look.Version) + ": " + b.title
	if h.look.Version != "" && titleFits(named, b.right, min(width, dialogWidth)) {
		b.title = named
	}
	return b.Render(width, height)
}

func (h Help) content(width int) [][]cell.Span {
	if h.second {
		return h.meanings(width - 3)
	}
	lines := h.keyColumns(min(width, dialogWidth) - 3)
	return append(lines, h.signs()...)
}

// entry is one line of help: keys and what they do, or a heading.
type entry struct {
	heading bool
	keys    string
	does    string
}

// The cells of an entry: two blanks, the keys, what they do.
const (
	entryIndent = 2
	entryKeys   = 10
	entryCells  = 26
)

// keyColumns lays the keys out in three columns, or in one where three do not fit.
func (h Help) keyColumns(width int) [][]cell.Span {
	left := append(h.entries(keys.GroupMove), h.entries(keys.GroupSet)...)
	middle := h.entries(keys.GroupLook)
	act, past, note := h.entries(keys.GroupAct), h.entries(keys.GroupPast), h.note()
	if width < 3*entryCells-1 {
		var lines [][]cell.Span
		for _, column := range [][]entry{left, middle, act, past, note} {
			for _, e := range column {
				lines = append(lines, h.entryLine(nil, e, width))
			}
		}
		return lines
	}
	right := act
	if len(act) > 0 {
		right = append(right, entry{})
	}
	right = slices.Concat(right, past, note)
	rows := max(len(left), len(middle), len(right))
	lines := make([][]cell.Span, rows)
	for i := range lines {
		for column, list := range [][]entry{left, middle, right} {
			var e entry
			if i < len(list) {
				e = list[i]
			}
			cells := entryCells
			if column == 2 {
				cells = width - 2*entryCells
			}
			lines[i] = h.entryLine(lines[i], e, cells)
		}
	}
	return lines
}

// entryLine adds an entry of cells cells to a line.
func (h Help) entryLine(line []cell.Span, e entry, cells int) []cell.Span {
	s := &h.look.Styles
	switch {
	case e.heading:
		return append(line, cell.Span{s.Header, text.Pad(e.keys, cells)})
	case e.keys == "":
		return append(line, cell.Span{s.Dim, text.Pad(text.Cut(e.does, cells, ""), cells)})
	}
	keys := text.Pad(e.keys, entryKeys)
	does := text.Pad(text.Cut(e.does, max(cells-entryIndent-text.Width(keys), 0), ""), cells-entryIndent-text.Width(keys))
	return append(line, cell.Span{s.Text, "  "}, cell.Span{s.Key, keys}, cell.Span{s.Text, does})
}

// entries are the lines of a group under its heading; none where the group is empty.
func (h Help) entries(of keys.Group) []entry {
	var list []entry
	for i := range h.look.Keys.All {
		b := &h.look.Keys.All[i]
		text := b.Help()
		if b.Group != of || text.Key == "" {
			continue
		}
		if list == nil {
			list = append(list, entry{heading: true, keys: string(of)})
		}
		keys := text.Key
		if h.look.Glyphs.ASCII && b.ASCIIKeys != "" {
			keys = b.ASCIIKeys
		}
		list = append(list, entry{keys: keys, does: text.Desc})
	}
	return list
}

// note says where the keys that act are disabled.
func (h Help) note() []entry {
	letters := h.look.Keys.Letter
	if letters == "" {
		return nil
	}
	verb := " are"
	if !strings.Contains(letters, " ") {
		verb = " is"
	}
	return []entry{
		{does: "(" + letters + verb + " off in"}, {does: "the past and with"}, {does: "--read-only)"},
	}
}
