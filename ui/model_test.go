package ui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/sampler/snapshot"
	"vramscope/ui/terminal"
)

// testModel is a model without a terminal.
type testModel struct {
	*model
	t     *testing.T
	now   time.Time
	ended bool
	said  []tea.Msg // messages that send does not pass to Update: raw sequences, clipboard
}

// newTestModel returns a model on an 80×24 screen that has seen the first snapshot.
func newTestModel(t *testing.T, first *snapshot.Snapshot, change func(*Options)) *testModel {
	t.Helper()
	m := &testModel{t: t, now: noon()}
	source := newFakeSource(first)
	options := Options{Source: source, Sampling: source, Now: func() time.Time { return m.now }}
	if change != nil {
		change(&options)
	}
	var err error
	m.model, err = newModel(options.withDefaults(), terminal.NewHold(terminal.Traits{Profile: colorprofile.TrueColor}))
	if err != nil {
		t.Fatal(err)
	}
	m.End = func() { m.ended = true }
	m.begin(80, 24, first)
	m.Asked = time.Time{}
	return m
}

// send passes the model a message, and then the messages of its commands that runCommand knows.
func (m *testModel) send(msg tea.Msg) {
	m.t.Helper()
	_, cmd := m.Update(msg)
	m.check()
	m.runCommand(msg, cmd)
}

func (m *testModel) runCommand(msg tea.Msg, cmd tea.Cmd) {
	m.t.Helper()
	if cmd == nil {
		return
	}
	answered := make(chan tea.Msg, 1)
	go func() { answered <- cmd() }()
	select {
	case answer := <-answered:
		switch answer := answer.(type) {
		case snapshotMsg, pastMsg, fillMsg, actedMsg, causeMsg:
			m.send(answer)
		case tea.BatchMsg:
			for _, cmd := range answer {
				m.runCommand(msg, cmd)
			}
		case nil, digitMsg:
		default:
			m.said = append(m.said, answer)
		}
	case <-time.After(journeyTimeout):
		m.t.Fatalf("what %T asked for is never answered", msg)
	}
}

// check fails unless the frame fills the screen.
func (m *testModel) check() {
	m.t.Helper()
	lines := m.lines
	if len(lines) != m.st.height {
		m.t.Fatalf("a frame of %d lines on a screen of %d", len(lines), m.st.height)
	}
	for i, l := range lines {
		if cells := ansi.StringWidth(l); cells != m.st.width {
			m.t.Fatalf("line %d has %d cells, the screen %d: %q", i+1, cells, m.st.width, l)
		}
	}
}

// keyNamed returns the key press with a name, as KeyPressMsg.String writes it.
func keyNamed(name string) tea.KeyPressMsg {
	special := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
		"right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
		"tab": tea.KeyTab, "backspace": tea.KeyBackspace, "f1": tea.KeyF1, "f2": tea.KeyF2, "f6": tea.KeyF6, "f7": tea.KeyF7,
		"f8": tea.KeyF8, "f10": tea.KeyF10, "f3": tea.KeyF3, "f4": tea.KeyF4, "f5": tea.KeyF5, "f9": tea.KeyF9,
	}
	if code, ok := special[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if name == "space" {
		return tea.KeyPressMsg{Code: ' ', Text: " "}
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
	}
	r := []rune(name)[0]
	return tea.KeyPressMsg{Code: r, Text: name}
}

func (m *testModel) press(names ...string) {
	m.t.Helper()
	for _, name := range names {
		m.send(keyNamed(name))
	}
}

// tick sets the clock to the time of a snapshot, and sends the snapshot.
func (m *testModel) tick(s *snapshot.Snapshot) {
	m.t.Helper()
	m.now = s.Time
	m.send(snapshotMsg{s})
}

// content returns the frame as one text, screen the same without its colours.
func (m *model) content() string { return strings.Join(m.lines, "\n") }

func (m *testModel) screen() string { return ansi.Strip(m.content()) }

// cursorLine returns the screen line of the cursor's row, −1 without one.
func (m *testModel) cursorLine() int {
	for i, l := range strings.Split(m.screen(), "\n") {
		if strings.HasPrefix(l, ">") && i > 4 {
			return i
		}
	}
	return -1
}

func (m *testModel) shows(text string) {
	m.t.Helper()
	if !strings.Contains(m.screen(), text) {
		m.t.Errorf("the screen does not show %q:\n%s", text, m.screen())
	}
}

func (m *testModel) hides(text string) {
	m.t.Helper()
	if strings.Contains(m.screen(), text) {
		m.t.Errorf("the screen shows %q:\n%s", text, m.screen())
	}
}

// click clicks on the first place of the screen that shows a text.
func (m *testModel) click(text string) {
	m.t.Helper()
	m.clickIn(text, 0)
}

func (m *testModel) clickIn(text string, from int) {
	m.t.Helper()
	for y, line := range strings.Split(m.screen(), "\n")[from:] {
		if before, _, found := strings.Cut(line, text); found {
			m.send(tea.MouseClickMsg{X: ansi.StringWidth(before), Y: from + y, Button: tea.MouseLeft})
			return
		}
	}
	m.t.Fatalf("no %q to click on in\n%s", text, m.screen())
}
