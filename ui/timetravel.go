package ui

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/keys"
)

// steps are the keys that move the shown moment by a fixed time.
var steps = map[keys.ID]time.Duration{
	keys.Back10s: -10 * time.Second, keys.Forward10s: 10 * time.Second,
	keys.Back1m: -time.Minute, keys.Forward1m: time.Minute,
	keys.Back1h: -time.Hour, keys.Forward1h: time.Hour,
}

func (m *model) scrub(step time.Duration) (bool, tea.Cmd) {
	if m.noPast(step > 0) {
		return true, nil
	}
	from := m.at()
	oldest, newest := m.options.History.Span()
	switch to := from.Add(step); {
	case newest.IsZero():
		return m.say("no history yet"), nil
	case !to.Before(oldest):
		return m.travel(to)
	case from.Equal(oldest):
		return m.say("the history begins here"), nil
	default:
		return m.travel(oldest)
	}
}

func (m *model) noPast(forward bool) bool {
	switch {
	case m.options.History == nil || m.st.live == nil:
		m.say("no history yet")
	case m.atPresent() && forward:
		m.say("this is the present")
	default:
		return false
	}
	return true
}

// atPresent reports whether the screen shows the newest snapshot.
func (m *model) atPresent() bool { return m.st.past.IsZero() && !m.st.frozen }

// at returns the moment of the past that was asked for last, or else the shown moment.
func (m *model) at() time.Time {
	switch {
	case !m.st.past.IsZero():
		return m.st.past
	case m.st.frozen && m.st.shown != nil:
		return m.st.shown.Time
	default:
		return m.st.live.Time
	}
}

// travel shows a moment of the history. A moment after the history is the present or, in a replay, the newest moment.
// A command reads the history, because that takes time.
func (m *model) travel(to time.Time) (bool, tea.Cmd) {
	_, newest := m.options.History.Span()
	switch {
	case to.Before(newest):
	case !m.st.replay:
		return m.present()
	case !m.st.past.Before(newest):
		return m.say("the recording ends here"), nil
	default:
		to = newest
	}
	history := m.options.History
	return true, m.request(to, func() pastMsg {
		then, _ := history.At(to)
		return pastMsg{snapshot: then, at: to}
	})
}

// request asks for a moment. Answers to earlier requests are dropped. From now on no new snapshot is shown.
func (m *model) request(to time.Time, read func() pastMsg) tea.Cmd {
	m.st.past = to
	m.st.frozen, m.st.inside = false, nil // a probe reports only the present
	m.past++
	request := m.past
	return func() tea.Msg {
		msg := read()
		msg.request = request
		return msg
	}
}

func (m *model) toEvent(forward bool) (bool, tea.Cmd) {
	if m.noPast(forward) {
		return true, nil
	}
	from, history := m.at(), m.options.History
	return true, m.request(from, func() pastMsg {
		var events []snapshot.Event
		if long, ok := history.(longLog); ok {
			events = otherEvents(long, from, forward)
		} else {
			events = nearest(slices.DeleteFunc(slices.Clone(history.Events(0)), nothingDone), from, forward)
		}
		to, note := from, map[bool]string{true: "no later event", false: "no earlier event"}[forward]
		if len(events) > 0 {
			to, note = events[0].Time, eventsNote(events)
		}
		then, _ := history.At(to)
		return pastMsg{snapshot: then, at: to, note: note}
	})
}

func nothingDone(e snapshot.Event) bool { return e.NothingDone() }

// otherEvents returns the events of the next or previous moment that has any, without the guard's decisions to do
// nothing.
func otherEvents(log longLog, from time.Time, forward bool) []snapshot.Event {
	for {
		events := log.EventsBeside(from, forward)
		if len(events) == 0 {
			return nil
		}
		from = events[0].Time
		if events = slices.DeleteFunc(events, nothingDone); len(events) > 0 {
			return events
		}
	}
}

// longLog is a history that may have too many events to read them all.
type longLog interface {
	EventsBeside(t time.Time, forward bool) []snapshot.Event
}

// nearest returns the events of the first moment after from that has any, or of the last before from. Events are
// newest first.
func nearest(events []snapshot.Event, from time.Time, forward bool) []snapshot.Event {
	var at time.Time
	for i := range events {
		switch t := events[i].Time; {
		case forward && t.After(from), !forward && at.IsZero() && t.Before(from):
			at = t
		}
	}
	return slices.DeleteFunc(events, func(e snapshot.Event) bool { return !e.Time.Equal(at) })
}

// eventsNote returns the worst of the events of one moment in words, with the number of the others.
func eventsNote(events []snapshot.Event) string {
	worst := &events[0]
	for i := range events {
		if events[i].Severity > worst.Severity {
			worst = &events[i]
		}
	}
	note := worst.Time.Format(time.TimeOnly) + " "
	if worst.GPUUUID != "" {
		note += fmt.Sprintf("GPU %d ", worst.GPU)
	}
	if name := text.Clean(worst.Name); name != "" {
		note += name + ": "
	}
	note += text.Clean(worst.Message)
	if others := len(events) - 1; others > 0 {
		note += fmt.Sprintf("  (and %d more: E)", others)
	}
	return note
}

func (m *model) toTyped(s string) (bool, tea.Cmd) {
	if m.options.History == nil || m.st.live == nil {
		return true, nil
	}
	oldest, newest := m.options.History.Span()
	if newest.IsZero() {
		return m.say("no history yet"), nil
	}
	to, err := quantity.ParseMoment(s, newest)
	switch {
	case err != nil:
		m.say(err.Error())
	case to.Before(oldest):
		m.say("the history begins at " + oldest.In(newest.Location()).Format(time.DateTime))
	case to.After(newest):
		m.say("the history ends at " + newest.Format(time.DateTime))
	default:
		return m.travel(to)
	}
	return true, nil
}

// takePast shows a moment of the past, unless it answers an earlier request than the newest.
func (m *model) takePast(msg pastMsg) bool {
	if msg.request != m.past || m.st.past.IsZero() {
		return false
	}
	m.st.past = msg.at
	switch {
	case msg.snapshot != nil:
		if m.st.replay {
			m.st.live = msg.snapshot
		}
		m.show(msg.snapshot)
	case m.st.replay: // the screen does not change
		m.st.past = m.st.shown.Time
		msg.note = "the recording has nothing of that moment"
	default:
		m.present()
		msg.note = "the history has nothing of that moment"
	}
	if msg.note != "" {
		m.say(msg.note)
	}
	return true
}

// present shows the present again, or the end of a recording.
func (m *model) present() (bool, tea.Cmd) {
	if m.st.replay {
		_, newest := m.options.History.Span()
		return m.travel(newest)
	}
	if m.atPresent() {
		return m.say("this is the present"), nil
	}
	m.st.past = time.Time{}
	m.st.frozen = false
	m.past++ // the answer to an open request is dropped
	if m.st.live != nil {
		m.show(m.st.live)
	}
	return true, nil
}

// freeze freezes the screen, or goes back to the present. Sampling goes on.
func (m *model) freeze() (bool, tea.Cmd) {
	if !m.atPresent() {
		return m.present()
	}
	m.st.frozen = true
	return true, nil
}
