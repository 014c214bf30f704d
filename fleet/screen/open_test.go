package screen

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vramscope/fleet"
)

// TestOpeningABoxNeverWaits: while a box is being fetched, the keys work. After Esc, a late answer opens
// nothing.
func TestOpeningABoxNeverWaits(t *testing.T) {
	m := shown(t, 80, 24, many(50)...)
	ended := 0
	m.End = func() { ended++ }
	box, err := &fleet.Opened{}, error(nil)
	var asked []string
	m.Open = func(ctx context.Context, name string) (*fleet.Opened, error) {
		asked = append(asked, name)
		return box, cmp.Or(ctx.Err(), err)
	}
	open := func() tea.Cmd { return m.press(tea.KeyPressMsg{Code: tea.KeyEnter}) }
	m.type_(t, "down", "down")
	late := open()
	if !strings.Contains(ansi.Strip(m.text()), "opening box-001") || ended > 0 {
		t.Errorf("nothing says that a box is opened:\n%s", ansi.Strip(m.text()))
	}
	m.type_(t, "down", "esc")
	if m.update(late()); ended > 0 || m.outcome.Open != nil || !strings.HasPrefix(m.Place.Cursor, "box-002:9841\x00") {
		t.Errorf("Esc does not give it up: %+v", m.outcome)
	}
	err = errors.New("no answer in 10s")
	if m.update(open()()); ended > 0 || m.message != "box-002: no answer in 10s" {
		t.Errorf("%q", m.message)
	}
	err = nil
	if m.update(open()()); ended != 1 || m.outcome.Open != box || strings.Join(asked, " ") != "box-001:9841 box-002:9841 box-002:9841" {
		t.Errorf("%q: ended %d times, %v", m.message, ended, asked)
	}
}

// TestWhatComesFirstCounts: a box that arrives after the user has pressed another key is not shown.
func TestWhatComesFirstCounts(t *testing.T) {
	for _, key := range []string{"q", "o", "/", "?"} {
		m := shown(t, 80, 24, many(50)...)
		m.End = func() {}
		m.Expect(noon, false) // so that quitting takes a moment
		m.Open = func(context.Context, string) (*fleet.Opened, error) { return &fleet.Opened{}, nil }
		late := m.press(tea.KeyPressMsg{Code: tea.KeyEnter})
		m.type_(t, key)
		if m.update(late()); m.outcome.Open != nil || m.opening != nil {
			t.Errorf("after %s a box opens", key)
		}
	}
}
