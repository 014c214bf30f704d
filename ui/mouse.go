package ui

import (
	tea "charm.land/bubbletea/v2"

	"vramscope/ui/dialog"
)

// The mouse does what keys do, but never confirms a question: a click may be meant to select text.
//
//	wheel          rows, lines of an overlay, GPU lines, with Shift the COMMAND column
//	click          a row, a GPU, a column's title, the alert

// wheelStep is the number of rows for one notch of the wheel.
const wheelStep = 3

// takeMouse handles the mouse, which is off by default, because it disables the terminal's selection.
func (m *model) takeMouse(msg tea.MouseMsg) bool {
	if !m.st.mouse || m.st.typing != nil || m.Ending || m.st.width < minWidth || m.st.height < minHeight {
		return false
	}
	at := msg.Mouse()
	switch at.Button {
	case tea.MouseWheelUp, tea.MouseWheelDown:
		by := map[tea.MouseButton]int{tea.MouseWheelUp: -wheelStep, tea.MouseWheelDown: wheelStep}[at.Button]
		if at.Mod.Contains(tea.ModShift) && m.st.overlay == nil {
			return m.scrollColumns(by)
		}
		return m.wheel(at.Y, by)
	case tea.MouseWheelLeft, tea.MouseWheelRight:
		return m.st.overlay == nil && m.scrollColumns(map[tea.MouseButton]int{tea.MouseWheelLeft: -wheelStep, tea.MouseWheelRight: wheelStep}[at.Button])
	case tea.MouseLeft:
		if _, click := msg.(tea.MouseClickMsg); click {
			return m.takeClick(at.X, at.Y)
		}
	}
	return false
}

func (m *model) takeClick(x, y int) bool {
	switch lay := m.layout(); {
	case m.st.overlay != nil:
		return false
	case lay.alert.rows > 0 && y == lay.alert.top:
		return m.nextAlert()
	case m.st.fills():
		return false
	default:
		return m.click(x, y)
	}
}

// wheel scrolls the overlay, the page, or the GPU lines if the mouse is over them; else it moves the cursor.
func (m *model) wheel(y, by int) bool {
	if m.st.overlay == nil {
		if m.st.page != nil {
			return m.scrollPage(by)
		}
		if lay := m.layout(); !m.st.detail && y >= lay.gpus.top && y < lay.gpus.top+lay.gpus.rows && m.scrollGPUs(lay, by) {
			return true
		}
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

// scrollGPUs scrolls the GPU lines; it returns false if all are in view.
func (m *model) scrollGPUs(lay *layout, by int) bool {
	hidden := len(m.st.gpus(&m.look, lay).Lines) - lay.gpuLines()
	if hidden <= 0 || m.st.noDriver() {
		return false
	}
	m.st.gpuTop = min(max(m.st.gpuTop+by, 0), hidden)
	return true
}
