package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/sampler/snapshot"
	"vramscope/ui/dialog"
)

// The mouse does what keys do, but never confirms a question: the user may only have wanted
// to select text.
//
//	wheel          rows, lines of an overlay, GPU lines, with Shift the COMMAND column
//	click          a row, a GPU, a column's title, a line of a menu, the alert
//	double click   the detail of the row

// wheelStep is the number of rows for one notch of the wheel.
const wheelStep = 3

// doubleClick is the longest time between the two clicks of a double click.
const doubleClick = 400 * time.Millisecond

// clicked is the last clicked row, to recognise a double click.
type clicked struct {
	row snapshot.RowID
	at  time.Time
}

// takeMouse handles the mouse, which is off by default: it disables the terminal's selection.
func (m *model) takeMouse(msg tea.MouseMsg) (bool, tea.Cmd) {
	if !m.st.mouse || m.st.typing != nil || m.Ending || m.st.width < minWidth || m.st.height < minHeight {
		return false, nil
	}
	at := msg.Mouse()
	switch at.Button {
	case tea.MouseWheelUp, tea.MouseWheelDown:
		by := map[tea.MouseButton]int{tea.MouseWheelUp: -wheelStep, tea.MouseWheelDown: wheelStep}[at.Button]
		if at.Mod.Contains(tea.ModShift) && m.st.overlay == nil {
			return m.scrollColumns(by), nil
		}
		return m.wheel(at.Y, by), nil
	case tea.MouseWheelLeft, tea.MouseWheelRight:
		return m.st.overlay == nil && m.scrollColumns(map[tea.MouseButton]int{tea.MouseWheelLeft: -wheelStep, tea.MouseWheelRight: wheelStep}[at.Button]), nil
	case tea.MouseLeft:
		if _, click := msg.(tea.MouseClickMsg); click {
			return m.takeClick(at.X, at.Y)
		}
	}
	return false, nil
}

func (m *model) takeClick(x, y int) (bool, tea.Cmd) {
	lay := m.layout()
	switch {
	case m.st.overlay != nil:
		r := lay.over(m.st.overlay.Size(m.st.width))
		_, height := m.overlayRoom()
		top := r.top + (r.rows-height)/2
		menu, ok := m.st.overlay.(dialog.Clickable)
		if !ok || y < top || y >= top+height {
			return false, nil
		}
		changed, cmd, _ := m.takeOutcome(menu.Click(y-top, m.st.width, height))
		return changed, cmd
	case lay.alert.rows > 0 && y == lay.alert.top:
		return m.nextAlert(), nil
	case m.st.fills():
		return false, nil
	default:
		return m.click(x, y), nil
	}
}

// wheel scrolls the overlay, the page, the GPU lines or the table: what is under the mouse
// and takes keys.
func (m *model) wheel(y, by int) bool {
	if m.st.overlay == nil {
		if m.st.page != nil {
			return m.scrollPage(by)
		}
		if lay := m.layout(); !m.st.detail && y >= lay.gpus.top && y < lay.gpus.top+lay.gpus.rows && m.scrollGPUs(&lay, by) {
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

func (m *model) clickRow(id snapshot.RowID, line int) bool {
	again := m.clicked.row == id && m.options.Now().Sub(m.clicked.at) <= doubleClick && m.st.Cursor.ID == id
	m.st.onGPUs = false
	m.setCursor(id, line)
	m.clicked = clicked{row: id, at: m.options.Now()}
	if again {
		m.clicked = clicked{}
		m.st.detail = true
	}
	return true
}
