package ui

import (
	"strconv"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/graph"
)

func (m *model) pin() bool {
	switch p := m.atCursor(); {
	case m.st.pinned != nil:
		m.st.pinned = nil
		return m.say("graph follows")
	case p != nil:
		m.st.pinned = new(graph.UsedBy(p.ID))
		return m.say("graph stays on PID " + strconv.Itoa(p.ID.Process.PID))
	case m.st.Focus != nil:
		m.st.pinned = &snapshot.SeriesKey{Metric: metric.Used, GPUUUID: m.st.Focus.GPUUUID, Instance: m.st.Focus.Instance}
		return m.say("graph stays on this GPU")
	default:
		return m.say("P pins the graph to the row of the cursor, or to the GPU in focus")
	}
}

// copyPID copies the PID to the clipboard of the terminal, also over SSH.
func (m *model) copyPID() (bool, tea.Cmd) {
	p := m.needCursor()
	if p == nil {
		return false, nil
	}
	pid := strconv.Itoa(p.ID.Process.PID)
	m.say("copied " + pid + ", if the terminal allows it (OSC 52)")
	return true, tea.Raw(ansi.SetSystemClipboard(pid))
}

// tag tags the process under the cursor or removes its tag. With set false it removes all tags.
func (m *model) tag(set bool) bool {
	if !set {
		if len(m.st.Tags) == 0 {
			m.say("nothing is tagged: Space tags a row")
		}
		clear(m.st.Tags)
		return true
	}
	p := m.needCursor()
	if p == nil {
		return false
	}
	if m.st.Tags[p.ID] {
		delete(m.st.Tags, p.ID)
	} else {
		m.st.Tags[p.ID] = true
	}
	m.st.setAnew(settingTags)
	m.move(1)
	return true
}

// openDetail opens the detail. In a small pane without a table, it opens the table first.
func (m *model) openDetail() bool {
	if m.layout().table.rows == 0 && !m.st.onTable {
		m.st.onTable = true
		return true
	}
	if m.needCursor() == nil {
		return false
	}
	m.st.detail = true
	return true
}

func (m *model) save() tea.Cmd {
	write, shown := m.options.Save, m.st.shown
	if write == nil || shown == nil {
		return nil
	}
	return written("saved", func() (string, error) { return write(shown) })
}
