package ui

import (
	"slices"
)

// setting is something that Esc clears. The setting that was set last goes first.
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

// words say on the keys line what Esc does about a setting.
func (s setting) words() string {
	return [settingCount]string{"no filter", "all GPUs", "all users", "end search", "untag", "drop need"}[s]
}

// isSet reports whether there is something to clear.
func (st *state) isSet(s setting) bool {
	switch s {
	case settingFilter:
		return st.Filter != ""
	case settingFocus:
		return st.Focus != nil
	case settingMine:
		return st.Mine
	case settingFind:
		return st.find != ""
	case settingNeed:
		return st.need != ""
	default:
		return len(st.Tags) > 0
	}
}

// noteSettings keeps the order in which settings were set.
func (st *state) noteSettings() {
	st.order = slices.DeleteFunc(st.order, func(s setting) bool { return !st.isSet(s) })
	for s := range settingCount {
		if st.isSet(s) && !slices.Contains(st.order, s) {
			st.order = append(st.order, s)
		}
	}
}

// setAnew moves a setting that has a new value to the end of the order.
func (st *state) setAnew(s setting) {
	st.order = slices.DeleteFunc(st.order, func(other setting) bool { return other == s })
	st.noteSettings()
}

// clearLast clears the setting that was set last; false where none is set.
func (m *model) clearLast() bool {
	m.st.noteSettings()
	if len(m.st.order) == 0 {
		return false
	}
	switch m.st.order[len(m.st.order)-1] {
	case settingFilter:
		m.st.Filter = ""
	case settingFocus:
		m.st.Focus = nil
		m.seeFocus()
	case settingMine:
		m.st.Mine = false
	case settingFind:
		m.st.find = ""
	case settingNeed:
		m.setNeed("")
	default:
		clear(m.st.Tags)
	}
	m.st.noteSettings()
	m.keepCursor()
	return true
}

// undoes is what Esc does on the main screen, "" where it does nothing.
func (st *state) undoes() string {
	switch {
	case st.onGPUs:
		return "to the table"
	case st.onTable:
		return "to the GPUs"
	case len(st.order) > 0:
		return st.order[len(st.order)-1].words()
	case st.Cursor.Active || st.ScrollX != 0 || st.gpuTop != 0:
		return "to the top"
	case st.nested:
		return "back"
	default:
		return ""
	}
}
