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
			history = joined.Whole() // with the earlier history, for which no frame waits
		}
		evidence := why.Gather(history, &event)
		verdict := why.Judge(evidence)
		return fillMsg(func(o dialog.Overlay) (dialog.Overlay, bool) {
			waiting, ok := o.(dialog.Why)
			return waiting.Fill(evidence, verdict), ok && waiting.Event().Row == event.Row && waiting.Event().Time.Equal(event.Time)
		})
	}
}

// saveWhy writes the page to a file.
func (m *model) saveWhy(w dialog.Why) tea.Cmd {
	write := m.options.SavePage
	if write == nil {
		m.say("this screen saves nothing")
		return nil
	}
	at, page := w.Event().Time, w.Text()
	return written("saved", func() (string, error) { return write(at, page) })
}
