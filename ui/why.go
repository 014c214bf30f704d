package ui

import (
	tea "charm.land/bubbletea/v2"

	"vramscope/recording/why"
	"vramscope/sampler/snapshot"
	"vramscope/ui/dialog"
)

// explain gathers the evidence of an event: a recording reads its files for that.
func (m *model) explain(w dialog.Why) tea.Cmd {
	history, event := m.st.history, *w.Event()
	return func() tea.Msg {
		if joined, ok := history.(interface{ Whole() snapshot.History }); ok {
			history = joined.Whole() // a frame does not wait for the earlier one; this may
		}
		evidence := why.Gather(history, &event)
		return whyMsg{event: event, evidence: evidence, verdict: why.Judge(evidence)}
	}
}

// takeWhy fills the overlay that waits for it, if that is still open.
func (m *model) takeWhy(msg whyMsg) bool {
	waiting, ok := m.st.overlay.(dialog.Why)
	if !ok || waiting.Event().Row != msg.event.Row || !waiting.Event().Time.Equal(msg.event.Time) {
		return false
	}
	m.st.overlay = waiting.Fill(msg.evidence, msg.verdict)
	return true
}

// saveWhy writes the page to a file.
func (m *model) saveWhy(w dialog.Why) tea.Cmd {
	write := m.options.SavePage
	if write == nil {
		m.say("this screen saves nothing")
		return nil
	}
	at, page := w.Event().Time, w.Text()
	return func() tea.Msg {
		path, err := write(at, page)
		if err != nil {
			return actedMsg{err.Error()}
		}
		return actedMsg{"saved " + path}
	}
}
