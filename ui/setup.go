package ui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/themes"
	"vramscope/ui/dialog"
	"vramscope/ui/table"
)

// settings are the settings in force.
func (m *model) settings() Settings {
	s := Settings{
		Theme: m.theme, Sort: m.st.Sort.Column, Reversed: m.st.Sort.Reversed, Lines: m.st.lines, Window: m.st.window,
		Mouse: m.st.mouse, Bell: !m.bell.silent, Columns: m.st.Columns,
	}
	if m.options.Sampling != nil && m.st.live != nil {
		s.Interval = m.st.interval()
	}
	return s
}

// openSetup shows the settings.
func (m *model) openSetup() bool {
	columns := table.Columns()
	choices := dialog.Choices{
		Intervals: intervals(),
		Windows:   append([]time.Duration{0}, windows()...),
		Sort:      items(m.table().SortColumns()),
		Columns:   items(columns[:len(columns)-1]),
	}
	for _, c := range columns {
		if c.Fixed {
			choices.Fixed = append(choices.Fixed, c.Name)
		}
	}
	return m.openOverlay(dialog.NewSetup(&m.look, m.settings(), choices))
}

// apply puts the settings of the setup into force.
func (m *model) apply(s Settings) tea.Cmd {
	before := m.settings()
	if s.Theme != before.Theme && slices.Contains(themes.Names(), s.Theme) {
		m.theme = s.Theme
		m.restyle()
	}
	if s.Sort != before.Sort || s.Reversed != before.Reversed {
		m.st.Sort = table.Order{Column: s.Sort, Reversed: s.Reversed}
		m.toTop()
	}
	m.st.lines, m.st.window, m.st.mouse, m.bell.silent, m.st.Columns = s.Lines, s.Window, s.Mouse, !s.Bell, s.Columns
	if s.Interval != before.Interval && s.Interval > 0 {
		return m.setInterval(s.Interval)
	}
	return nil
}

// saveSettings writes the settings to the configuration file.
func (m *model) saveSettings(d dialog.Setup) tea.Cmd {
	write, settings := m.options.SaveSettings, d.Settings()
	if write == nil {
		return nil
	}
	return written("wrote", func() (string, error) { return write(settings) })
}
