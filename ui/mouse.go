package ui

import (
	"vramscope/ui/dialog"

	tea "charm.land/bubbletea/v2"
)

// wheelStep is the rows of a notch of the wheel.
const wheelStep = 3

// takeMouse handles the mouse, which is off by default: it disables the terminal's selection.
func (m *model) takeMouse(msg tea.MouseMsg) (bool, tea.Cmd) {
	if !m.st.mouse || m.st.typing != nil || m.ending {
		return false, nil
	}
	at := msg.Mouse()
	switch at.Button {
	case tea.MouseWheelUp:
		return m.wheel(-wheelStep), nil
	case tea.MouseWheelDown:
		return m.wheel(wheelStep), nil
	case tea.MouseLeft:
		if _, click := msg.(tea.MouseClickMsg); click && m.st.overlay == nil && !m.st.detail {
			return m.click(at.X, at.Y), nil
		}
	}
	return false, nil
}

// wheel scrolls what receives the keys, as its keys would.
func (m *model) wheel(by int) bool {
	if m.st.overlay == nil {
		return m.move(by)
	}
	if _, question := m.st.overlay.(dialog.Question); question {
		return false // the wheel must not choose a signal
	}
	key := "down"
	if by < 0 {
		key, by = "up", -by
	}
	changed := false
	for range by {
		moved, _, _ := m.pressOverlay(key)
		changed = changed || moved
	}
	return changed
}
