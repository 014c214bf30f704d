package ui

import tea "charm.land/bubbletea/v2"

// save writes what the screen shows to a file: now, frozen, or of the past.
func (m *model) save() tea.Cmd {
	write, shown := m.options.Save, m.st.shown
	if write == nil || shown == nil {
		return nil
	}
	return func() tea.Msg {
		path, err := write(shown)
		if err != nil {
			return actedMsg{err.Error()}
		}
		return actedMsg{"saved " + path}
	}
}
