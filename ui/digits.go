package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/sampler/snapshot"
)

// digits collects the index of a GPU. Where there are more than ten, a digit that
// may be the first of two waits for the second.
type digits struct {
	first int  // the digit that waits
	open  bool // one does
	wait  int  // number of the wait, so that an old timer ends no new one
}

// digitTimeout is how long a second digit may take.
const digitTimeout = 400 * time.Millisecond

// digit takes a number key.
func (m *model) digit(d int) (bool, tea.Cmd) {
	if m.st.shown == nil {
		return false, nil
	}
	last := lastIndex(m.st.shown)
	if m.digits.open {
		m.digits.open = false
		if both := m.digits.first*10 + d; both <= last {
			return m.focusGPU(both), nil
		}
		m.focusGPU(m.digits.first)
		// The second digit did not belong to the first.
	}
	if d > 0 && d*10 <= last {
		m.digits = digits{first: d, open: true, wait: m.digits.wait + 1}
		wait := m.digits.wait
		return true, tea.Tick(digitTimeout, func(time.Time) tea.Msg { return digitMsg{wait} })
	}
	return m.focusGPU(d), nil
}

// lastIndex is the highest index of a GPU, which exceeds their number where only
// some are listed.
func lastIndex(s *snapshot.Snapshot) int {
	last := 0
	for i := range s.GPUs {
		last = max(last, s.GPUs[i].Index)
	}
	return last
}

// digitsDone is called when no second digit came.
func (m *model) digitsDone(wait int) bool {
	if !m.digits.open || m.digits.wait != wait {
		return false
	}
	m.digits.open = false
	return m.focusGPU(m.digits.first)
}
