package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// scrub moves the shown moment. A command reads the history, which takes time.
func (m *model) scrub(step time.Duration) (bool, tea.Cmd) {
	if m.options.History == nil || m.st.live == nil {
		return false, nil
	}
	oldest, newest := m.options.History.Span()
	if newest.IsZero() {
		m.say("no history yet")
		return true, nil
	}
	from := m.st.past
	if from.IsZero() {
		if step > 0 {
			return false, nil // already live
		}
		from = m.st.live.Time
		if m.st.frozen && m.st.shown != nil {
			from = m.st.shown.Time
		}
	}
	to := from.Add(step)
	if to.Before(oldest) {
		if from.Equal(oldest) {
			m.say("the history begins here")
			return true, nil
		}
		to = oldest
	}
	if !to.Before(newest) {
		return m.live(), nil
	}
	m.st.past = to
	m.st.frozen, m.st.segments = false, nil // the map is only of now
	m.past++
	request, history := m.past, m.options.History
	return true, func() tea.Msg {
		if s, ok := history.At(to); ok {
			return pastMsg{request, s}
		}
		return pastMsg{request, nil}
	}
}

// takePast shows a moment of the past, unless a later request replaced it.
func (m *model) takePast(msg pastMsg) bool {
	if msg.request != m.past || m.st.past.IsZero() {
		return false
	}
	if msg.snapshot == nil {
		m.live()
		m.say("the history has nothing of that moment")
		return true
	}
	m.show(msg.snapshot)
	return true
}

// live shows the present again.
func (m *model) live() bool {
	if m.st.past.IsZero() && !m.st.frozen {
		return false
	}
	m.st.past = time.Time{}
	m.st.frozen = false
	m.past++ // drop what is still being rebuilt
	if m.st.live != nil {
		m.show(m.st.live)
	}
	return true
}

// freeze freezes the screen or continues it. Sampling never stops.
func (m *model) freeze() bool {
	if m.st.frozen || !m.st.past.IsZero() {
		return m.live()
	}
	m.st.frozen = true
	return true
}
