package ui

import (
	"errors"
	"slices"

	tea "charm.land/bubbletea/v2"

	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/terminal"
)

// update takes a message and reports whether the screen changed.
func (m *model) update(msg tea.Msg) (changed bool, cmd tea.Cmd) {
	defer m.keepAdvice()
	defer m.st.noteSettings()
	defer m.wantDetails()
	if changed, taken := m.takeAnswer(msg); taken {
		return changed, nil
	}
	switch msg := msg.(type) {
	case snapshotMsg:
		m.takeSnapshot(msg.snapshot)
		return true, tea.Batch(m.ring(msg.snapshot), m.noteIncidents())
	case causeMsg:
		m.st.incidents.causes[msg.key] = msg.cause
		return true, nil
	case clockMsg:
		m.st.now = m.options.Now()
		return true, nil
	case tea.KeyPressMsg:
		m.st.now = m.options.Now()
		before := m.st.message
		changed, cmd := m.press(msg)
		return changed || m.st.message != before, cmd
	case tea.PasteMsg:
		return m.paste(msg.Content), nil
	case tea.MouseClickMsg, tea.MouseWheelMsg:
		m.st.now = m.options.Now()
		return m.takeMouse(msg.(tea.MouseMsg)), nil
	case tea.WindowSizeMsg:
		return m.resize(msg.Width, msg.Height), nil
	case digitMsg:
		return m.digitsDone(msg.wait), nil
	case pastMsg:
		return m.takePast(msg), nil
	case fillMsg:
		return m.fill(msg), nil
	case serverMsg:
		return m.takeServer(msg), nil
	case flushStepMsg:
		return m.takeStep(msg)
	case flushedMsg:
		changed := m.takeFlushed(msg)
		if m.st.inside == nil || m.st.inside.held != nil {
			return changed, nil
		}
		_, cmd := m.askInside() // the map shows the effect
		return changed, cmd
	case attachedMsg:
		m.attaching, m.st.progress = false, ""
		return m.say(msg.text), nil
	case insideMsg:
		return m.takeInside(msg), nil
	case insideDueMsg:
		if m.st.inside != nil && m.st.inside.request == msg.request {
			return m.askInside()
		}
	case actedMsg:
		return m.say(msg.text), nil
	case terminal.DrainedMsg:
		return m.stale || msg.Lost, nil
	case terminal.ResumedMsg:
		if errors.Is(msg.Err, terminal.ErrNotStopped) {
			m.say("cannot suspend: there is " + msg.Err.Error())
		}
		return true, nil
	}
	return false, nil
}

// takeSnapshot takes the newest snapshot, and shows it unless the screen is frozen or shows the past.
func (m *model) takeSnapshot(s *snapshot.Snapshot) {
	m.st.now = m.options.Now()
	m.st.live = s
	m.st.partsEver = m.st.partsEver || s.ProbeSeen
	if m.st.messageUntil.Before(m.st.now) {
		m.st.message = ""
	}
	m.noteTaken(s)
	if m.atPresent() {
		m.show(s)
	}
}

func (m *model) show(s *snapshot.Snapshot) {
	m.st.shown = s
	m.st.sumLasting()
	m.setNeed(m.st.need)
	if m.st.alert > 0 { // chosen with the key !
		m.st.alert = max(slices.IndexFunc(m.st.headlines(), func(a snapshot.Alert) bool { return a.Key() == m.current }), 0)
	}
	m.keepCursor()
	if o, ok := m.st.overlay.(dialog.Follower); ok {
		m.st.overlay = o.Follow(m.st.screen())
	}
}

// ring rings the bell for a new urgent alert, also while the screen shows the past.
func (m *model) ring(s *snapshot.Snapshot) tea.Cmd {
	if !m.bell.ring(s.Alerts, m.st.now) {
		return nil
	}
	return tea.Raw("\a")
}

func (m *model) nextAlert() bool {
	if m.st.shown == nil {
		return false
	}
	alerts := m.st.headlines()
	switch {
	case !m.st.past.IsZero():
		return m.say("alerts are of the present; E lists what happened, [ and ] go there")
	case len(alerts) == 0:
		return m.say("no alert")
	case len(alerts) == 1:
		return m.say("there is no other alert")
	}
	m.st.alert = (m.st.alert + 1) % len(alerts)
	m.current = alerts[m.st.alert].Key()
	return true
}

func (m *model) resize(width, height int) bool {
	if width <= 0 || height <= 0 || width == m.st.width && height == m.st.height {
		return false
	}
	m.st.width, m.st.height = width, height
	m.fitOverlay()
	m.keepCursor()
	return true
}

func (m *model) takeAnswer(msg tea.Msg) (changed, taken bool) {
	if msg, ok := msg.(tea.BackgroundColorMsg); ok {
		changed = m.dark != msg.IsDark()
		m.dark = msg.IsDark()
		if changed {
			m.restyle()
		}
		return changed, true
	}
	wide, taken := m.TakeAnswer(msg, m.options.Now())
	if wide {
		m.look.Glyphs = cell.ASCIIGlyphs()
	}
	return wide, taken
}
