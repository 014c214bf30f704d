package ui

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// TestZoomGoesOnFromWhatIsShown: a graph takes the window that its height has
// room for, and each z is seen: it goes on from there, in the detail too. Where
// no graph is on the screen it is said.
func TestZoomGoesOnFromWhatIsShown(t *testing.T) {
	for _, c := range []struct {
		width, height int
		press         []string
		shows         []string // at first, then after each z
	}{
		{200, 50, nil, []string{", 10m back", ", 30m back", ", 2h back", ", 24h back", ", 5m back", ", 10m back"}},
		{120, 40, nil, []string{", 5m back", ", 10m back", ", 30m back"}},
		{80, 24, []string{"j", "enter"}, []string{", 5m back", ", 10m back"}},
		{120, 50, []string{"j", "enter"}, []string{", 10m back", ", 30m back"}},
		{80, 24, nil, []string{"help", "graph window 10m", "graph window 30m"}},
	} {
		m := newTestModel(t, smallBox(8, 8, 0), nil)
		m.send(tea.WindowSizeMsg{Width: c.width, Height: c.height})
		m.press(c.press...)
		m.shows(c.shows[0])
		for _, text := range c.shows[1:] {
			m.press("z")
			m.shows(text)
		}
	}
}

// TestGraphWindowIsConfigured: a window that was asked for is taken at every height.
func TestGraphWindowIsConfigured(t *testing.T) {
	m := newTestModel(t, smallBox(8, 8, 0), func(o *Options) { o.GraphWindow = 20 * time.Minute })
	m.send(tea.WindowSizeMsg{Width: 200, Height: 50})
	m.shows(", 20m back")
	m.press("z")
	m.shows(", 30m back")
}
