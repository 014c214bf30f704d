package ui

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// recorded is a history with events.
type recorded struct {
	fakeHistory
	events []snapshot.Event // newest first
}

func (h recorded) Events(int) []snapshot.Event { return h.events }

// replayed returns a model that shows a recording with moments at these seconds, starting at the last.
func replayed(t *testing.T, events []snapshot.Event, seconds ...int) *testModel {
	h := recorded{events: events}
	for _, second := range seconds {
		then := smallBox(4, 3, second)
		then.Past = true
		h.moments = append(h.moments, then)
	}
	return newTestModel(t, h.moments[len(h.moments)-1], func(o *Options) {
		o.Sampling, o.History, o.Replay = nil, h, true
	})
}

func (m *testModel) shownAt(second int) {
	m.t.Helper()
	if got, want := m.st.shown.Time, noon().Add(time.Duration(second)*time.Second); !got.Equal(want) {
		m.t.Errorf("shows %v, want %v", got, want)
	}
	if m.st.past.IsZero() {
		m.t.Error("the recording is shown as the present")
	}
}

func TestReplayStaysInThePast(t *testing.T) {
	m := replayed(t, nil, -7200, -3600, -60, 0)
	m.shows("PAST")
	m.shownAt(0)
	m.press(">")
	m.shows("the recording ends here")
	m.press("{")
	m.shownAt(-3600)
	m.press("{", "{")
	m.shownAt(-7200)
	m.press("L")
	m.shownAt(0)
	m.press("p", "+", "F", "x")
	m.shownAt(0)
	if m.st.frozen || m.st.overlay != nil {
		t.Error("a key of the live monitor did something")
	}
}

func TestEventsAreStoppedAt(t *testing.T) {
	at := func(second int) time.Time { return noon().Add(time.Duration(second) * time.Second) }
	m := replayed(t, []snapshot.Event{
		{Time: at(-10), Kind: snapshot.EventEnded, Name: "python", Message: "exited"},
		{Time: at(-60), Kind: snapshot.EventStarted, Name: "bash", Message: "started"},
		{Time: at(-60), Kind: snapshot.EventOutOfMemory, Name: "train\x1b[2J", Message: "out of memory", Severity: snapshot.Urgent, GPUUUID: "GPU-00000002", GPU: 2},
		{Time: at(-90), Kind: snapshot.EventStarted, Name: "python", Message: "started"},
	}, -100, -90, -60, -20, 0)
	m.press("[")
	m.shownAt(-20) // the last moment at or before the event
	m.shows("python: exited")
	m.press("[")
	m.shownAt(-60)
	m.shows("GPU 2 train?[2J: out of memory  (and 1 more: E)")
	m.press("[")
	m.shownAt(-90)
	m.press("[")
	m.shows("no earlier event")
	m.shownAt(-90)
	m.press("]", "]")
	m.shownAt(-20)
	m.press("]")
	m.shows("no later event")
}

// TestNothingDoneIsNoStop: [ steps over moments in which the guard did nothing.
func TestNothingDoneIsNoStop(t *testing.T) {
	at := func(second int) time.Time { return noon().Add(time.Duration(second) * time.Second) }
	idle := func(second int) snapshot.Event {
		return snapshot.Event{Time: at(second), Kind: snapshot.EventGuard, Message: "guard: did nothing", Decision: &snapshot.GuardDecision{Kind: snapshot.GuardNothing}}
	}
	m := replayed(t, []snapshot.Event{
		idle(-20), idle(-60), {Time: at(-60), Kind: snapshot.EventEnded, Name: "python", Message: "exited"}, idle(-90),
	}, -100, -90, -60, -20, 0)
	m.press("[")
	m.shownAt(-60)
	if m.shows("python: exited"); strings.Contains(m.content(), "more: E") {
		t.Error(m.content())
	}
	m.press("[")
	m.shows("no earlier event")
	log := besideLog{idle(-20), idle(-60), {Time: at(-90), Message: "exited"}}
	if got := otherEvents(log, at(0), false); len(got) != 1 || got[0].Message != "exited" {
		t.Error("of a long log:", got)
	}
}

// besideLog is a log with one event at each moment, newest first.
type besideLog []snapshot.Event

func (l besideLog) EventsBeside(t time.Time, forward bool) []snapshot.Event {
	return nearest(slices.Clone(l), t, forward)
}

func TestTypedTime(t *testing.T) {
	m := replayed(t, nil, -7200, -3600, 0)
	m.press("@")
	for _, key := range "11:30" {
		m.press(string(key))
	}
	m.press("enter")
	m.shownAt(-3600)
	m.press("@", "9", "enter")
	m.shows("is no time: write 03:12")
	m.press("@", "9", ":", "0", "0", "enter")
	m.shows("the history begins at 2026-11-20 10:00:00")
	m.press("@", "1", "esc")
	m.shownAt(-3600)
	if m.st.Filter != "" || m.st.find != "" {
		t.Error("a typed time filters or finds")
	}
}

func TestEventsOfTheLiveMonitor(t *testing.T) {
	h := recorded{fakeHistory{[]*snapshot.Snapshot{smallBox(4, 3, -60), smallBox(4, 3, 0)}},
		[]snapshot.Event{{Time: noon().Add(-30 * time.Second), Kind: snapshot.EventEnded, Name: "python", Message: "exited"}}}
	m := newTestModel(t, smallBox(4, 3, 0), func(o *Options) { o.History = h })
	m.press("]")
	if !m.st.past.IsZero() {
		t.Error("] leaves the present")
	}
	m.press("[")
	m.shows("PAST")
	m.shownAt(-60)
	m.press("L")
	if !m.st.past.IsZero() {
		t.Error("L does not go live")
	}
}

// TestTheMomentOfAReplayIsShown: every size shows the moment, a wide screen in full and with its keys.
func TestTheMomentOfAReplayIsShown(t *testing.T) {
	for _, size := range [][2]int{{140, 40}, {200, 50}, {80, 24}, {60, 11}, {40, 8}, {30, 3}} {
		m := replayed(t, nil, -7200, 0)
		m.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		m.press("{", "{")
		m.st.now = m.st.shown.Time.Add(26 * time.Hour)
		m.draw()
		date := "Nov 20 10:00:00"
		if size[0] >= fullWidth {
			date = "PAST"
			m.shows("2026-11-20 10:00:00 ")
			m.shows(", . < > { } [ ] @ time")
		}
		m.shows(date)
	}
}

func TestRecordedWordsAreASCII(t *testing.T) {
	at := noon().Add(-time.Minute)
	m := replayed(t, []snapshot.Event{{Time: at, Kind: snapshot.EventAlarm, Name: "train.py", Message: "full in 10m (9m–11m)…", GPUUUID: "GPU-00000002", GPU: 2}}, -120, -60, 0)
	m.look.Glyphs = cell.ASCIIGlyphs()
	m.press("[")
	m.shows("full in 10m (9m-11m)+")
	m.press("E")
	m.shows("full in 10m (9m-11m)+")
	m.press("esc")
	m.st.message = ""
	m.st.past = time.Time{}
	then := *m.st.shown
	then.Alerts = []snapshot.Alert{{Kind: snapshot.AlertLeak, GPUUUID: then.GPUs[2].UUID, Severity: snapshot.Urgent, Note: "leak (9m–11m)", Message: "leaks, full in 9m–11m", Advice: "restart it – soon"}}
	m.show(&then)
	m.draw()
	m.shows("leak (9m-11m)")
	m.shows("full in 9m-11m: restart it - soon")
}

// TestEscEndsAScreenThatWasOpenedFromAnother: only when nothing is left to clear.
func TestEscEndsAScreenThatWasOpenedFromAnother(t *testing.T) {
	escaped, ended := 0, 0
	m := newTestModel(t, smallBox(4, 3, 0), func(o *Options) { o.Escaped = func() { escaped++ } })
	m.Asked, m.End = time.Time{}, func() { ended++ }
	m.draw()
	m.shows("Esc back")
	m.press("?", "esc")
	if escaped != 0 || m.st.overlay != nil {
		t.Error("Esc with the help open ends the screen")
	}
	m.press("esc")
	if escaped != 1 || ended != 1 {
		t.Errorf("Esc: escaped %d times, ended %d times", escaped, ended)
	}
}
