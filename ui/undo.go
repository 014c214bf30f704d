package ui

import "slices"

// setting is something that Esc clears.
type setting uint8

const (
	settingFilter setting = iota
	settingFocus
	settingMine
	settingFind
	settingTags
	settingNeed
	settingCount
)

// undo has, for each setting, the words for Esc on the keys line, whether it is set, and how to clear it.
var undo = [settingCount]struct {
	words string
	isSet func(*state) bool
	clear func(*model)
}{
	settingFilter: {"no filter", func(st *state) bool { return st.Filter != "" }, func(m *model) { m.st.Filter = "" }},
	settingFocus:  {"all GPUs", func(st *state) bool { return st.Focus != nil }, func(m *model) { m.st.Focus, m.st.gpuTop = nil, 0 }},
	settingMine:   {"all users", func(st *state) bool { return st.Mine }, func(m *model) { m.st.Mine = false }},
	settingFind:   {"end search", func(st *state) bool { return st.find != "" }, func(m *model) { m.st.find = "" }},
	settingTags:   {"untag", func(st *state) bool { return len(st.Tags) > 0 }, func(m *model) { clear(m.st.Tags) }},
	settingNeed:   {"drop need", func(st *state) bool { return st.need != "" }, func(m *model) { m.setNeed("") }},
}

// noteSettings keeps the order in which settings were set.
func (st *state) noteSettings() {
	st.order = slices.DeleteFunc(st.order, func(s setting) bool { return !undo[s].isSet(st) })
	for s := range settingCount {
		if undo[s].isSet(st) && !slices.Contains(st.order, s) {
			st.order = append(st.order, s)
		}
	}
}

// setAnew moves a setting that has a new value to the end of the order.
func (st *state) setAnew(s setting) {
	st.order = slices.DeleteFunc(st.order, func(other setting) bool { return other == s })
	st.noteSettings()
}

// clearLast clears the setting that was set last; it returns false if none is set.
func (m *model) clearLast() bool {
	m.st.noteSettings()
	if len(m.st.order) == 0 {
		return false
	}
	undo[m.st.order[len(m.st.order)-1]].clear(m)
	m.st.noteSettings()
	m.keepCursor()
	return true
}

// undoes returns the words for Esc on the main screen, "" if there are none.
func (st *state) undoes() string {
	switch {
	case st.onGPUs:
		return "to the table"
	case st.onTable:
		return "to the GPUs"
	case len(st.order) > 0:
		return undo[st.order[len(st.order)-1]].words
	case st.Cursor.Active || st.ScrollX != 0 || st.gpuTop != 0:
		return "to the top"
	case st.nested:
		return "back"
	default:
		return ""
	}
}
