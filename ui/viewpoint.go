package ui

import (
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/themes"
)

// Viewpoint is what a reader has made of the screen: where the cursor is, what
// is listed and how. It can be handed to the screen of another process, which
// then begins where this one ended. Dialogs and a moment of the past are no
// part of it: what they were about has to be looked at anew.
type Viewpoint struct {
	Cursor *snapshot.RowID // nil: none
	Line   int             // the line of the table that it stands on
	Tags   []snapshot.RowID

	Sort       string // a column's title
	Reversed   bool
	Filter     string
	Find       string
	Mine, Tree bool
	FocusGPU   string // UUID; "": none
	Focus      snapshot.InstanceID

	Detail bool
	Pinned *snapshot.SeriesKey // nil: the graph follows
	Window time.Duration       // of the graph; 0 goes by its height

	Theme   string
	Mouse   bool
	HintOff bool
}

// viewpoint is the present one.
func (m *model) viewpoint() Viewpoint {
	st := &m.st
	v := Viewpoint{
		Sort: st.sort.column, Reversed: st.sort.reversed, Filter: st.filter, Find: st.find, Mine: st.mine, Tree: st.tree,
		Detail: st.detail, Pinned: st.pinned, Window: st.window, Theme: m.theme, Mouse: st.mouse, HintOff: st.hintOff,
	}
	if st.cursor.active {
		id := st.cursor.id
		v.Cursor, v.Line = &id, st.cursor.line
	}
	for id, tagged := range st.tags {
		if tagged {
			v.Tags = append(v.Tags, id)
		}
	}
	if st.focus != nil {
		v.FocusGPU, v.Focus = st.focus.gpuUUID, st.focus.instance
	}
	return v
}

// resume takes another screen's viewpoint, as far as it is one of this program:
// it may be another version's.
func (m *model) resume(v *Viewpoint) {
	st := &m.st
	if v.Cursor != nil {
		st.cursor = cursor{active: true, id: *v.Cursor, line: max(v.Line, 0)}
	}
	for _, id := range v.Tags {
		st.tags[id] = true
	}
	if isSortable(v.Sort) {
		st.sort = sortOrder{column: v.Sort, reversed: v.Reversed}
	}
	st.filter, st.find, st.mine, st.tree = v.Filter, v.Find, v.Mine, v.Tree
	if v.FocusGPU != "" {
		st.focus = &focus{gpuUUID: v.FocusGPU, instance: v.Focus}
	}
	st.detail = v.Detail
	st.pinned = v.Pinned
	if v.Window > 0 {
		st.window = v.Window
	}
	if _, err := themes.New(v.Theme, m.dark, m.traits.Profile); err == nil && v.Theme != "" {
		m.theme = v.Theme
		m.restyle()
	}
	st.mouse, st.hintOff = v.Mouse, v.HintOff
}

// isSortable reports whether there is a column of that title, with an order.
func isSortable(title string) bool {
	id := columnNamed(title)
	return columnOf(id).title == title && sortable(id)
}
