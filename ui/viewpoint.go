package ui

import (
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/table"
)

// Viewpoint is what another process needs to continue a screen: no question, no past.
type Viewpoint struct {
	Cursor *snapshot.RowID // nil: none
	Line   int             // its line of the table
	Tags   []snapshot.RowID

	Sort       string // a column's title
	Reversed   bool
	Filter     string
	Find       string
	Mine, Tree bool
	FocusGPU   string // UUID; "": none
	Focus      snapshot.InstanceID

	Detail bool
	Page   *table.Focus        // of a GPU; nil: none
	Pinned *snapshot.SeriesKey // nil: the graph follows
	Window time.Duration       // of the graph; 0 goes by its height
	Lines  bool                // the graph's style

	Theme   string
	Mouse   bool
	Silent  bool     // no bell
	Columns []string // of the table; nil: as many as fit
	HintOff bool
}

// viewpoint is the viewpoint of this screen.
func (m *model) viewpoint() Viewpoint {
	st := &m.st
	v := Viewpoint{
		Sort: st.Sort.Column, Reversed: st.Sort.Reversed, Filter: st.Filter, Find: st.find, Mine: st.Mine, Tree: st.Tree,
		Detail: st.detail, Page: st.page, Pinned: st.pinned, Window: st.window, Lines: st.lines, Theme: m.theme, Mouse: st.mouse, HintOff: st.hintOff,
		Silent: m.bell.silent, Columns: st.Columns,
	}
	if st.Cursor.Active {
		id := st.Cursor.ID
		v.Cursor, v.Line = &id, st.Cursor.Line
	}
	for id, tagged := range st.Tags {
		if tagged {
			v.Tags = append(v.Tags, id)
		}
	}
	if st.Focus != nil {
		v.FocusGPU, v.Focus = st.Focus.GPUUUID, st.Focus.Instance
	}
	return v
}

// resume takes what is valid of a viewpoint, which may be of another version.
func (m *model) resume(v *Viewpoint) {
	st := &m.st
	if v.Cursor != nil {
		st.Cursor = table.Cursor{Active: true, ID: *v.Cursor, Line: max(v.Line, 0), Since: st.now}
	}
	for _, id := range v.Tags {
		st.Tags[id] = true
	}
	if table.Sortable(v.Sort) {
		st.Sort = table.Order{Column: v.Sort, Reversed: v.Reversed}
	}
	st.Filter, st.find, st.Mine, st.Tree = v.Filter, v.Find, v.Mine, v.Tree
	if v.FocusGPU != "" {
		st.Focus = &table.Focus{GPUUUID: v.FocusGPU, Instance: v.Focus}
	}
	st.detail, st.page = v.Detail, v.Page
	st.pinned, st.lines = v.Pinned, v.Lines
	if v.Window > 0 {
		st.window = v.Window
	}
	if _, err := themes.New(v.Theme, m.dark, m.Traits.Profile); err == nil && v.Theme != "" {
		m.theme = v.Theme
		m.restyle()
	}
	st.mouse, st.hintOff, st.Columns, m.bell.silent = v.Mouse, v.HintOff, v.Columns, v.Silent
}
