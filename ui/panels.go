package ui

import (
	"strconv"
	"vramscope/ui/gpus"
	"vramscope/ui/table"
)

// Tab decides whether the movement keys walk the rows of the table or the
// GPUs. Walking the GPUs puts them in focus one after the other, so the table
// below shows each one's processes.

// gpuKeys reports whether the movement keys walk the GPUs.
func (m *model) gpuKeys() bool { return m.st.onGPUs && !m.st.detail && !m.st.noDriver() }

// nextPanel gives the movement keys to the GPUs, or back to the table.
func (m *model) nextPanel() bool {
	if m.st.shown == nil || len(m.st.shown.GPUs) == 0 {
		return false
	}
	m.st.onGPUs = !m.st.onGPUs
	if m.st.onGPUs && m.st.Focus == nil {
		m.walkGPUs(1)
	}
	return true
}

// focusOn is the focus that shows a line's processes alone.
func focusOn(line gpus.Line) *table.Focus {
	f := &table.Focus{GPUUUID: line.GPU.UUID}
	if line.Instance != nil {
		f.Instance = line.Instance.ID
	}
	return f
}

// setFocus narrows the table; asked for what is in focus already, it shows all
// again.
func (m *model) setFocus(f *table.Focus) bool {
	if m.st.Focus != nil && *m.st.Focus == *f {
		f = nil
	}
	m.st.Focus = f
	m.seeFocus()
	m.keepCursor()
	return true
}

// focusGPU focuses the GPU of an index.
func (m *model) focusGPU(index int) bool {
	for i := range m.st.shown.GPUs {
		if m.st.shown.GPUs[i].Index == index {
			return m.setFocus(&table.Focus{GPUUUID: m.st.shown.GPUs[i].UUID})
		}
	}
	m.say("there is no GPU " + strconv.Itoa(index) + " on this screen")
	return true
}

// walkGPUs moves the focus to the next GPU, or instance of the GPU in focus.
func (m *model) walkGPUs(by int) bool {
	if m.st.shown == nil || len(m.st.shown.GPUs) == 0 {
		return false
	}
	stops := m.st.gpus(&m.look, &layout{}).Lines
	at := -1
	for i := range stops {
		if m.st.Focus != nil && *focusOn(stops[i]) == *m.st.Focus {
			at = i
		}
	}
	to := min(max(at+by, 0), len(stops)-1)
	if to == at {
		return false
	}
	m.st.Focus = focusOn(stops[to])
	m.seeFocus()
	m.keepCursor()
	return true
}

// seeFocus scrolls the GPU lines until the one in focus is in view.
func (m *model) seeFocus() {
	if m.st.Focus == nil {
		m.st.gpuTop = 0
		return
	}
	lay := m.layout()
	room := lay.gpus.rows
	if lay.gpuHeader {
		room--
	}
	panel := m.st.gpus(&m.look, &lay)
	seen := func() bool {
		panel.Top = m.st.gpuTop
		for _, line := range panel.Visible(room * lay.gpuColumns) {
			if *focusOn(line) == *m.st.Focus {
				return true
			}
		}
		return false
	}
	for m.st.gpuTop = min(m.st.gpuTop, len(panel.Lines)); m.st.gpuTop > 0 && !seen(); m.st.gpuTop-- {
	}
	for m.st.gpuTop < len(panel.Lines) && !seen() {
		m.st.gpuTop++
	}
}
