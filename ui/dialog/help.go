package dialog

import (
	"slices"
	"strings"

	"vramscope/internal/text"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Help has three pages: the keys to begin with and the parts of the bar; keys and signs; columns and marks.
type Help struct {
	page
	columns []Section
	at      int // the page, from 0
}

var helpTitles = [...]string{"keys and signs", "all keys and signs", "columns and marks"}

// Section is a part of the third page.
type Section struct {
	Title string
	Items []Item
}

// NewHelp opens the help at the keys. The sections explain the columns.
func NewHelp(lk *cell.Appearance, columns ...Section) Help {
	return Help{page: page{look: lk}, columns: columns}
}

func (h Help) Size(width int) int { return len(h.content(width)) + 2 }

func (h Help) Press(name string, width, height int) (Overlay, Outcome) {
	last := len(helpTitles) - 1
	switch help := h.look.Keys.Match(name, keys.InOverlay, false) == keys.Help; {
	case name == "tab", (name == "right" || help) && h.at < last:
		h.at, h.top = (h.at+1)%len(helpTitles), 0
		return h, Handled
	case name == "left" && h.at > 0:
		h.at, h.top = h.at-1, 0
		return h, Handled
	case help:
		return h, Closed
	}
	var out Outcome
	h.page, out = h.press(name, len(h.content(width)), height-2)
	return h, out
}

func (h Help) Render(width, height int) []string {
	b := h.box(helpTitles[h.at], h.content(width), height)
	b.right = "Tab " + [...]string{"all keys", "columns and marks", "back"}[h.at] + ", " + b.right
	b.snug = h.at < len(helpTitles)-1
	named := "vramscope " + text.Clean(h.look.Version) + ": " + b.title
	if h.look.Version != "" && titleFits(named, b.right, min(width, dialogWidth)) {
		b.title = named
	}
	return b.Render(width, height)
}

func (h Help) content(width int) [][]cell.Span {
	room := min(width, dialogWidth) - 3
	switch h.at {
	case 0:
		return append(h.firstKeys(room), h.parts()...)
	case 1:
		return slices.Concat(h.keyColumns(room), h.parts(), h.signs())
	default:
		return h.meanings(width - 3)
	}
}

// firstKeys returns the keys to begin with, in two columns where these fit.
func (h Help) firstKeys(width int) [][]cell.Span {
	var lines [][]cell.Span
	n := 1
	if width >= 2*(entryCells+entryIndent+entryKeys) {
		n = 2
	}
	for i := range h.look.Keys.All {
		if b := &h.look.Keys.All[i]; b.First != "" {
			lines = append(lines, h.entryLine(nil, entry{keys: h.shown(i), does: b.First}, width/n))
		}
	}
	return sideBySide(lines, n, width/n)
}

// shown returns a key as help names it.
func (h Help) shown(i int) string {
	b := &h.look.Keys.All[i]
	if h.look.Glyphs.ASCII && b.ASCIIKeys != "" {
		return b.ASCIIKeys
	}
	return b.Help().Key
}

// entry is one line of help: keys and what they do, or a heading.
type entry struct {
	heading bool
	keys    string
	does    string
}

// The cells of an entry: two blanks, the keys, and the whole entry.
const (
	entryIndent = 2
	entryKeys   = 10
	entryCells  = 26
)

// keyColumns lays the keys out in three columns, or in one if three do not fit.
func (h Help) keyColumns(width int) [][]cell.Span {
	left := append(h.entries(keys.GroupMove), h.entries(keys.GroupSet)...)
	middle := h.entries(keys.GroupLook)
	act, past, note := h.entries(keys.GroupAct), h.entries(keys.GroupPast), h.note()
	columns := [][]entry{slices.Concat(left, middle, act, past, note)}
	if width >= 3*entryCells-1 {
		if len(act) > 0 {
			act = append(act, entry{})
		}
		columns = [][]entry{left, middle, slices.Concat(act, past, note)}
	}
	var lines [][]cell.Span
	for i := 0; slices.ContainsFunc(columns, func(list []entry) bool { return i < len(list) }); i++ {
		var line []cell.Span
		for column, list := range columns {
			var e entry
			if i < len(list) {
				e = list[i]
			}
			cells := entryCells
			if column == len(columns)-1 {
				cells = width - column*entryCells
			}
			line = h.entryLine(line, e, cells)
		}
		lines = append(lines, line)
	}
	return lines
}

// entryLine adds an entry to a line, padded to a number of cells.
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

// entries returns the lines of a group under its heading; none if the group is empty.
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
		list = append(list, entry{keys: h.shown(i), does: text.Desc})
	}
	return list
}

// note says when the keys that act are disabled; none if no such key is bound.
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
