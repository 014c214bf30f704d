package ui

import (
	"image/color"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"vramscope/ui/terminal"
)

func TestResizeKeepsEverything(t *testing.T) {
	m := newTestModel(t, smallBox(8, 8, 0), nil)
	m.press("j", "j", "j", "s", "r")
	m.st.Filter = "rank"
	cursor, sorted := m.st.Cursor.ID, m.st.Sort
	for _, size := range [][2]int{{120, 40}, {40, 8}, {30, 3}, {20, 2}, {300, 80}, {80, 24}} {
		m.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
	}
	if m.st.Cursor.ID != cursor || m.st.Sort != sorted || m.st.Filter != "rank" {
		t.Error("a resize lost cursor, order or filter")
	}
}

func TestIntervalSteps(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	source := m.options.Sampling.(*fakeSource)
	m.press("+")
	if source.interval != 2*time.Second {
		t.Errorf("+ sets %v", source.interval)
	}
	m.press("-", "-")
	if source.interval != 500*time.Millisecond {
		t.Errorf("- - sets %v", source.interval)
	}
	m.press("-", "-", "-", "-", "-")
	if source.interval != 100*time.Millisecond {
		t.Errorf("the shortest is %v", source.interval)
	}
}

func TestBackgroundChoosesTheTheme(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	if !m.look.Styles.Dark {
		t.Fatal("not dark before the terminal has said anything")
	}
	m.send(tea.BackgroundColorMsg{Color: color.White})
	if m.look.Styles.Dark {
		t.Error("still dark on white")
	}
	m.press("T")
	if m.theme == "vramscope" || m.theme == "" {
		t.Errorf("T gives %q", m.theme)
	}
}

func TestWideGlyphsAreReplaced(t *testing.T) {
	for _, tc := range []struct {
		at    tea.CursorPositionMsg
		ascii bool
	}{
		{tea.CursorPositionMsg{X: 1, Y: 1}, false},
		{tea.CursorPositionMsg{X: 2, Y: 1}, true},
		{tea.CursorPositionMsg{X: 2, Y: 7}, false}, // on another line than the question
	} {
		m := newTestModel(t, smallBox(4, 3, 0), nil)
		m.Expect(m.now, false)
		m.send(tc.at)
		if m.look.Glyphs.ASCII != tc.ascii {
			t.Errorf("%+v: ASCII is %v", tc.at, m.look.Glyphs.ASCII)
		}
	}
}

// Nothing is drawn for a terminal that takes no output; the next frame shows the present.
func TestStalledTerminalGetsNoFrames(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	stalled := true
	m.Stalled = func() bool { return stalled }
	before := m.content()
	m.tick(smallBox(4, 3, 30))
	if m.content() != before {
		t.Error("a frame was drawn")
	}
	stalled = false
	m.send(terminal.DrainedMsg{})
	if m.content() == before {
		t.Error("no frame after the terminal came back")
	}
}

func TestQuitWaitsForTheTerminalsAnswers(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.Expect(m.now, true)
	m.press("q")
	if m.ended {
		t.Fatal("it ended while the terminal was answering")
	}
	m.send(uv.PrimaryDeviceAttributesEvent{}) // the last answer
	if !m.ended {
		t.Error("it waits for more")
	}
}

func TestClockMovesWithoutSnapshots(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.now = noon().Add(3 * time.Second)
	m.send(clockMsg{})
	m.shows("12:00:03")
}
