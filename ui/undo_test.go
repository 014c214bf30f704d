package ui

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"vramscope/sampler/snapshot/snapshottest"
)

// TestEscClearsWhatWasSetLast: Esc clears one setting at a time, and the keys line says which.
func TestEscClearsWhatWasSetLast(t *testing.T) {
	m := newTestModel(t, snapshottest.DrawnBox(), nil)
	m.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	m.press("f", "a", "enter", "3", "space", "/", "c", "a", "enter", "u", "u", "f", "r", "enter")
	for _, step := range []struct {
		hint  string
		still setting
		gone  setting
	}{
		{"Esc no filter", settingFind, settingFilter},
		{"Esc end search", settingTags, settingFind},
		{"Esc untag", settingFocus, settingTags},
	} {
		m.shows(step.hint)
		m.press("esc")
		if undo[step.gone].isSet(&m.st) || !undo[step.still].isSet(&m.st) {
			t.Errorf("%s: clears %v, and %v is set: %v", step.hint, !undo[step.gone].isSet(&m.st), step.still, undo[step.still].isSet(&m.st))
		}
	}
	m.shows("Esc all GPUs")
	m.press("esc", "u")
	m.shows("Esc all users")
	m.press("esc")
	m.press("j")
	if got := m.st.undoes(); got != "to the top" {
		t.Errorf("Esc goes %q", got)
	}
	m.press("esc")
	if got := m.st.undoes(); got != "" {
		t.Errorf("Esc with nothing set: %q", got)
	}
}

func TestTabSaysHowToGoBack(t *testing.T) {
	m := newTestModel(t, snapshottest.DrawnBox(), nil)
	m.press("tab")
	m.shows("Esc to the table")
	m.press("esc")
	m.shows("Esc all GPUs")
}
