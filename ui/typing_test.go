package ui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestFilterAppliesWhileTyping(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("f", "b", "o", "b")
	m.shows(" bob ")
	m.hides(" alice    ")
	m.press("esc")
	m.shows(" alice    ")
	m.press("f", "b", "o", "b", "enter", "j")
	m.hides(" alice    ")
	m.press("q") // not a letter any more
	if !m.ended {
		t.Error("q after the filter does not quit")
	}
}

func TestQIsALetterWhileTyping(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("/", "q")
	if m.ended {
		t.Fatal("q quit while it was typed")
	}
	m.press("ctrl+c")
	if !m.ended {
		t.Error("Ctrl-C does not quit while typing")
	}
}

func TestFindGoesToTheMatches(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("/", "1", "2", "0")
	if got := m.atCursor(); got == nil || got.GPU != 2 {
		t.Fatalf("the cursor is on %v", got)
	}
	first := m.st.Cursor.ID
	m.press("enter", "n")
	second := m.st.Cursor.ID
	m.press("n", "n")
	if second == first || m.st.Cursor.ID != first {
		t.Errorf("n goes from %v to %v and back to %v", first, second, m.st.Cursor.ID)
	}
	m.press("N")
	if m.atCursor().GPU != 2 {
		t.Error("N leaves the matches")
	}
	m.press("/", "x", "y", "z")
	m.shows("no row contains xyz") // while it is typed
	m.press("esc", "/", "b", "o", "b")
	m.hides("no row contains")
	m.press("esc", "/", "x", "y", "z", "enter", "n")
	m.shows("no row contains xyz")
}

func TestPasteIsNotTakenForKeys(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	before := m.screen()
	m.send(tea.PasteMsg{Content: "qx\ny"})
	if m.ended || m.screen() != before {
		t.Error("a paste was taken for keys")
	}
	m.press("f")
	m.send(tea.PasteMsg{Content: "bob\x1b[31m\nrm -rf"})
	if m.st.Filter != "bob[31m" {
		t.Errorf("the filter is %q", m.st.Filter)
	}
}

// TestFindSaysWhichMatch: Enter, n and N show the number of the match and of all.
func TestFindSaysWhichMatch(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("/", "b", "o", "b", "enter")
	m.shows("1 of 4 with bob")
	m.press("n")
	m.shows("2 of 4 with bob")
	m.press("N", "N")
	m.shows("4 of 4 with bob")
}

// TestSortStepsBothWays: S undoes a step of s.
func TestSortStepsBothWays(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("s")
	if m.st.Sort.Column == "USED" {
		t.Fatal("s does not sort by another column")
	}
	m.press("S")
	if m.st.Sort.Column != "USED" {
		t.Errorf("s S sorts by %s", m.st.Sort.Column)
	}
}
