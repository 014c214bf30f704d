package ui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/internal/quantity"
	"vramscope/themes"
	"vramscope/ui/dialog"
	"vramscope/ui/graph"
	"vramscope/ui/table"
)

// intervals returns the steps of + and -.
func intervals() []time.Duration {
	return []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second,
		2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
	}
}

func (m *model) changeInterval(longer bool) bool {
	if m.options.Sampling == nil || m.st.live == nil {
		return false
	}
	now := m.st.interval()
	steps := intervals()
	at, exact := slices.BinarySearch(steps, now)
	if longer && exact {
		at++
	} else if !longer {
		at--
	}
	if at < 0 || at >= len(steps) {
		return m.say(map[bool]string{true: "no longer", false: "no shorter"}[longer] + " interval than " + quantity.BriefDuration(now))
	}
	m.say("interval " + steps[at].String())
	m.setInterval(steps[at])
	return true
}

func (m *model) setInterval(next time.Duration) {
	m.st.chosen = next
	m.options.Sampling.SetInterval(next)
}

func (m *model) nextTheme() bool {
	names := themes.Names()
	m.theme = names[(slices.Index(names, m.theme)+1)%len(names)]
	m.restyle()
	return m.say("theme " + m.theme)
}

// windows returns the steps of z.
func windows() []time.Duration {
	return []time.Duration{5 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour, 24 * time.Hour}
}

// zoom sets the next longer window of the graph; after the longest comes the shortest.
func (m *model) zoom() bool {
	if m.st.detail && m.st.inside != nil && m.st.inside.held == nil {
		return m.say("z is for the graph: v shows it")
	}
	windows, rows := windows(), m.graphRows()
	now := graph.Graph{Window: m.st.window}.WindowFor(rows)
	m.st.window = windows[0]
	if i := slices.IndexFunc(windows, func(w time.Duration) bool { return w > now }); i >= 0 {
		m.st.window = windows[i]
	}
	if rows == 0 {
		m.say("graph window " + quantity.BriefDuration(m.st.window) + "; Enter shows a process's graph")
	}
	return true
}

func (m *model) graphRows() int {
	if !m.st.detail {
		return m.layout().graph.rows
	}
	return newDetail(&m.st, &m.look, m.table().Rows, true).GraphRows(m.st.width, m.layout().page().rows)
}

func (m *model) graphStyle() bool {
	if !m.look.Areas() {
		return m.say("this theme and terminal have lines alone")
	}
	m.st.lines = !m.st.lines
	return m.say("graph style " + map[bool]string{true: "lines", false: "area"}[m.st.lines])
}

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

func (m *model) openSetup() bool {
	columns := table.Columns()
	choices := dialog.Choices{
		Intervals: intervals(),
		Windows:   append([]time.Duration{0}, windows()...),
		Sort:      items(m.table().SortColumns()),
	}
	for _, c := range columns[:len(columns)-1] {
		choices.Columns = append(choices.Columns, dialog.Column{Item: dialog.Item{Name: c.Name, Help: c.Help}, Fixed: c.Fixed, Off: c.Off})
	}
	return m.openOverlay(dialog.NewSetup(&m.look, m.settings(), choices))
}

func (m *model) apply(s Settings) {
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
		m.setInterval(s.Interval)
	}
}

func (m *model) saveSettings(d dialog.Setup) tea.Cmd {
	write, settings := m.options.SaveSettings, d.Settings()
	if write == nil {
		return nil
	}
	return written("wrote", func() (string, error) { return write(settings) })
}
