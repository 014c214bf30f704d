package ui

import tea "charm.land/bubbletea/v2"

// save writes the shown snapshot to a file.
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
