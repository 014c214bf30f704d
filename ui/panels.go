package ui

import (
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/sampler/snapshot"
	"vramscope/ui/gpus"
)

// Tab switches the movement keys between the table and the GPUs, where they move the focus.

func (m *model) nextPanel() bool {
	if m.st.shown == nil || len(m.st.shown.GPUs) == 0 {
		return m.say("there is no GPU")
	}
	m.st.onGPUs = !m.st.onGPUs
	if m.st.onGPUs && m.st.Focus == nil {
		m.walkGPUs(1)
	}
	return true
}

// setFocus sets the focus, or removes it if it is on that GPU already.
func (m *model) setFocus(f *snapshot.Place) bool {
	if m.st.Focus != nil && *m.st.Focus == *f {
		f = nil
	}
	return m.moveFocus(f)
}

func (m *model) moveFocus(f *snapshot.Place) bool {
	m.st.Focus = f
	m.st.setAnew(settingFocus)
	m.seeFocus()
	m.keepCursor()
	return true
}

func (m *model) focusGPU(index int) bool {
	at := slices.IndexFunc(m.st.shown.GPUs, func(g snapshot.GPU) bool { return g.Index == index })
	if at < 0 {
		return m.say("there is no GPU " + strconv.Itoa(index) + " on this screen")
	}
	focus := &snapshot.Place{GPUUUID: m.st.shown.GPUs[at].UUID}
	if m.st.page == nil {
		return m.setFocus(focus)
	}
	if *m.st.page == *focus {
		m.say("this is GPU " + strconv.Itoa(index))
	}
	m.st.page, m.st.pageTop = focus, 0
	return true
}

func (m *model) walkGPUs(by int) bool {
	if m.st.shown == nil || len(m.st.shown.GPUs) == 0 {
		return false
	}
	stops := m.st.gpus(&m.look, &layout{}).Lines
	at := slices.IndexFunc(stops, func(line gpus.Line) bool { return m.st.Focus != nil && line.Place() == *m.st.Focus })
	to := min(max(at+by, 0), len(stops)-1)
	if to == at {
		return false
	}
	return m.moveFocus(new(stops[to].Place()))
}

// seeFocus scrolls the GPU lines until the focus is in view.
func (m *model) seeFocus() {
	if m.st.Focus == nil {
		m.st.gpuTop = 0
		return
	}
	lay := m.layout()
	panel := m.st.gpus(&m.look, lay)
	seen := func() bool {
		panel.Top = m.st.gpuTop
		return slices.ContainsFunc(panel.Visible(lay.gpuLines()), func(line gpus.Line) bool { return line.Place() == *m.st.Focus })
	}
	for m.st.gpuTop = min(m.st.gpuTop, len(panel.Lines)); m.st.gpuTop > 0 && !seen(); m.st.gpuTop-- {
	}
	for m.st.gpuTop < len(panel.Lines) && !seen() {
		m.st.gpuTop++
	}
}

// digits collects the index of a GPU. A digit that can begin an index of two digits waits for a second digit.
type digits struct {
	first int  // the digit that waits
	open  bool // first waits
	wait  int  // number of the wait, so that an old timer does not end a new wait
}

const digitTimeout = 400 * time.Millisecond

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
		// d is no second digit: it begins an index.
	}
	if d > 0 && d*10 <= last {
		m.digits = digits{first: d, open: true, wait: m.digits.wait + 1}
		wait := m.digits.wait
		return true, tea.Tick(digitTimeout, func(time.Time) tea.Msg { return digitMsg{wait} })
	}
	return m.focusGPU(d), nil
}

// lastIndex returns the highest index of a GPU. Lower indices may be missing.
func lastIndex(s *snapshot.Snapshot) int {
	last := 0
	for i := range s.GPUs {
		last = max(last, s.GPUs[i].Index)
	}
	return last
}

// digitsDone focuses the GPU of a digit to which no second digit came.
func (m *model) digitsDone(wait int) bool {
	if !m.digits.open || m.digits.wait != wait {
		return false
	}
	m.digits.open = false
	return m.focusGPU(m.digits.first)
}
