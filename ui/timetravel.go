package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// scrub moves the screen through the past. The history is read in a command:
// rebuilding a moment out of compressed series takes its time.
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
	m.st.frozen, m.st.segments = false, nil // the map is of now
	m.past++
	request, history := m.past, m.options.History
	return true, func() tea.Msg {
		if s, ok := history.At(to); ok {
			return pastMsg{request, s}
		}
		return pastMsg{request, nil}
	}
}

// takePast shows a moment of the past, unless it is no longer what is wanted.
func (m *model) takePast(msg pastMsg) bool {
	if msg.request != m.past || m.st.past.IsZero() {
		return false
	}
	if msg.snapshot == nil {
		m.live()
		m.say("nothing is remembered of that moment")
		return true
	}
	m.show(msg.snapshot)
	return true
}

// live goes back to now, from the past and from a frozen screen.
func (m *model) live() bool {
	if m.st.past.IsZero() && !m.st.frozen {
		return false
	}
	m.st.past = time.Time{}
	m.st.frozen = false
	m.past++ // what is still being rebuilt is not wanted any more
	if m.st.live != nil {
		m.show(m.st.live)
	}
	return true
}

// freeze holds the screen still, or lets it go on; sampling never stops.
func (m *model) freeze() bool {
	if m.st.frozen || !m.st.past.IsZero() {
		return m.live()
	}
	m.st.frozen = true
	return true
}
