package screen

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// The mouse does what keys do, as on the monitor's screen: the wheel moves, a click sets
// the cursor, a second one opens the box. It confirms no question.

// wheelStep is the lines of a notch of the wheel; doubleClick the longest time between
// the two clicks of one.
const (
	wheelStep   = 3
	doubleClick = 400 * time.Millisecond
)

// clicked is the line that was clicked last.
type clicked struct {
	line Key
	at   time.Time
}

func (m *model) takeMouse(msg tea.MouseMsg) tea.Cmd {
	at := msg.Mouse()
	_, click := msg.(tea.MouseClickMsg)
	switch {
	case !m.mouse || m.help || m.prompt != nil || m.question != nil:
	case at.Button == tea.MouseWheelUp:
		m.move(-wheelStep)
	case at.Button == tea.MouseWheelDown:
		m.move(wheelStep)
	case click && at.Button == tea.MouseLeft:
		return m.click(at.Y - above)
	}
	return nil
}

// click sets the cursor to a row of the fleet's lines.
func (m *model) click(row int) tea.Cmd {
	lines := m.lines()
	if row < 0 || row >= m.rows() || m.place.top+row >= len(lines) {
		return nil
	}
	now := clicked{keyOf(&lines[m.place.top+row]), m.now()}
	before := m.clicked
	m.place.Cursor, m.clicked = now.line, now
	if before.line == now.line && now.at.Sub(before.at) <= doubleClick {
		return m.open()
	}
	return nil
}
