package ui

import (
	"context"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/action"
	"vramscope/action/signal"
	"vramscope/recording/why"
	"vramscope/sampler/snapshot"
	"vramscope/ui/dialog"
	"vramscope/ui/gpus"
	"vramscope/ui/table"
)

func (m *model) openOverlay(o dialog.Overlay) bool {
	m.closeOverlay()
	if _, question := o.(dialog.Question); question {
		m.st.Held = make(map[snapshot.RowID]int)
		for i, id := range m.rowIDs() {
			m.st.Held[id] = i
		}
		m.asked = m.options.Now()
	}
	m.st.overlay = o
	m.fitOverlay()
	return true
}

func (m *model) closeOverlay() bool {
	had := m.st.overlay != nil
	m.st.overlay, m.st.Held = nil, nil
	return had
}

func (m *model) overlayRoom() (width, height int) {
	rows := m.st.overlay.Size(m.st.width)
	return m.st.width, min(rows, m.layout().over(rows).rows)
}

// askingTime is how long a question must be open before y is accepted. An earlier y may have been pasted, or typed
// before the question and delivered late by a slow line.
const askingTime = 250 * time.Millisecond

// pressOverlay passes a key to the overlay; taken is false if the overlay ignores the key.
func (m *model) pressOverlay(name string) (changed bool, cmd tea.Cmd, taken bool) {
	width, height := m.overlayRoom()
	switch next, out := m.st.overlay.Press(name, width, height); out {
	case dialog.Ignored:
		return false, nil, false
	case dialog.Closed:
		m.closeOverlay()
	case dialog.Confirmed:
		if m.options.Now().Sub(m.asked) < askingTime {
			return false, nil, true
		}
		m.closeOverlay()
		switch d := next.(type) {
		case dialog.Signal:
			return true, m.sendSignal(d), true
		case dialog.Pause:
			return true, m.pauseGuard(d), true
		case dialog.Flush:
			return true, m.startFlush(d, false), true
		case dialog.Attach:
			return true, m.startAttach(d), true
		}
	case dialog.Explained:
		m.st.overlay = next
		if w, ok := next.(dialog.Why); ok {
			var seen tea.Cmd
			if incident, is := snapshot.IncidentOf(*w.Event()); is {
				seen = m.see(incident)
			}
			return true, tea.Batch(seen, m.explain(w)), true
		}
	case dialog.Saved:
		switch d := next.(type) {
		case dialog.Why:
			return true, m.saveWhy(d), true
		case dialog.Setup:
			return true, m.saveSettings(d), true
		}
	case dialog.Chosen:
		m.closeOverlay()
		if d, ok := next.(dialog.SortBy); ok {
			m.sortAs(d.Column())
		}
	case dialog.Changed:
		m.st.overlay = next
		if d, ok := next.(dialog.Setup); ok {
			m.apply(d.Settings())
		}
	case dialog.Rehearsed:
		m.st.overlay = next
		if d, ok := next.(dialog.Flush); ok {
			return true, m.startFlush(d, true), true
		}
	default:
		m.st.overlay = next
	}
	return true, nil, true
}

// fill completes the open overlay, if it asked for the message.
func (m *model) fill(complete fillMsg) bool {
	next, ok := complete(m.st.overlay)
	if ok {
		m.st.overlay, m.asked = next, m.options.Now()
	}
	return ok
}

// fitOverlay closes a question for which the screen has become too small.
func (m *model) fitOverlay() {
	if _, question := m.st.overlay.(dialog.Question); !question {
		return
	}
	if _, height := m.overlayRoom(); height < dialog.MinLines {
		m.closeOverlay()
		m.say("the window is too small for this question")
	}
}

func (m *model) openHelp() bool {
	gpuColumns := dialog.Section{Title: "COLUMNS OF A GPU"}
	for _, c := range gpus.Columns() {
		gpuColumns.Items = append(gpuColumns.Items, dialog.Item{Name: c[0], Help: c[1]})
	}
	return m.openOverlay(dialog.NewHelp(&m.look, dialog.Section{Title: "COLUMNS OF A PROCESS", Items: items(table.Columns())}, gpuColumns))
}

func (m *model) openSignal() bool {
	p := m.needCursor()
	if p == nil {
		return false
	}
	return m.openOverlay(dialog.NewSignal(&m.look, m.st.screen(), p.ID))
}

const signalTimeout = 5 * time.Second

// sendSignal sends the signal once y has confirmed it. Actions.Signal checks the process's identity again.
func (m *model) sendSignal(d dialog.Signal) tea.Cmd {
	send, id, sig := m.options.Actions.Signal, d.Process(), d.Signal()
	if send == nil || m.st.readOnly {
		return nil
	}
	return func() tea.Msg {
		return actedMsg{outcome(signalTimeout, signal.Name(sig)+" to "+strconv.Itoa(id.PID), func(ctx context.Context) (string, error) {
			result, err := send(ctx, signal.Request{Process: id, Signal: sig, Origin: action.Key("x")})
			return result.Sentence(id.PID), err
		})}
	}
}

func (m *model) askEnvironment() (bool, tea.Cmd) {
	p := m.needCursor()
	if p == nil {
		return false, nil
	}
	read, id := m.options.Environment, p.ID.Process
	return m.openOverlay(dialog.NewEnvironment(&m.look, p)), func() tea.Msg {
		variables, err := read(id)
		return fillMsg(func(o dialog.Overlay) (dialog.Overlay, bool) {
			waiting, ok := o.(dialog.Environment)
			return waiting.Fill(variables, err), ok && waiting.Process() == id
		})
	}
}

func (m *model) lookNow() tea.Cmd {
	look := m.options.LookNow
	if look == nil {
		return nil
	}
	m.say("trying the driver")
	return func() tea.Msg {
		look()
		return nil // the result comes as a snapshot
	}
}

func (m *model) askDoctor() (bool, tea.Cmd) {
	examine := m.options.Doctor
	if examine == nil {
		return false, nil
	}
	return m.openOverlay(dialog.NewReport(&m.look)), func() tea.Msg {
		lines := examine()
		return fillMsg(func(o dialog.Overlay) (dialog.Overlay, bool) {
			waiting, ok := o.(dialog.Report)
			return waiting.Fill(lines), ok
		})
	}
}

// explain gathers and judges the evidence of an event in a command, because the history of a recording reads files.
func (m *model) explain(w dialog.Why) tea.Cmd {
	history, event := m.st.history, *w.Event()
	return func() tea.Msg {
		if joined, ok := history.(interface{ Whole() snapshot.History }); ok {
			history = joined.Whole() // waits for the earlier history; frames do not
		}
		evidence := why.Gather(history, &event)
		verdict := why.Judge(evidence)
		return fillMsg(func(o dialog.Overlay) (dialog.Overlay, bool) {
			waiting, ok := o.(dialog.Why)
			return waiting.Fill(evidence, verdict), ok && waiting.Event().Row == event.Row && waiting.Event().Time.Equal(event.Time)
		})
	}
}

func (m *model) saveWhy(w dialog.Why) tea.Cmd {
	write := m.options.SavePage
	if write == nil {
		m.say("this screen saves nothing")
		return nil
	}
	at, page := w.Event().Time, w.Text()
	return written("saved", func() (string, error) { return write(at, page) })
}
