package ui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/action/signal"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
)

func withMouse(o *Options) { o.Mouse = true }

// TestClickDoesNotConfirm: even a click on the key that confirms does nothing.
func TestClickDoesNotConfirm(t *testing.T) {
	sent := false
	m := newTestModel(t, snapshottest.DrawnBox(), func(o *Options) {
		o.Mouse = true
		o.Actions.Signal = func(context.Context, signal.Request) (signal.Result, error) {
			sent = true
			return signal.Result{}, nil
		}
	})
	m.press("j", "x")
	if _, ok := m.st.overlay.(dialog.Signal); !ok {
		t.Fatal("no question")
	}
	m.now = m.now.Add(time.Minute)
	lines := strings.Split(m.screen(), "\n")
	for y, line := range lines {
		for x := range ansi.StringWidth(line) {
			if m.st.overlay == nil {
				m.press("x")
				m.now = m.now.Add(time.Minute)
			}
			m.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
		}
	}
	if sent {
		t.Error("a click sends a signal")
	}
}

func TestWheelScrollsWhatIsUnderIt(t *testing.T) {
	m := newTestModel(t, snapshottest.Crowded(32, 3), withMouse)
	m.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	m.send(tea.MouseWheelMsg{X: 3, Y: 3, Button: tea.MouseWheelDown})
	if m.st.gpuTop == 0 || m.st.Cursor.Active {
		t.Errorf("over the GPUs the wheel moves them to %d, the cursor %v", m.st.gpuTop, m.st.Cursor.Active)
	}
	m.send(tea.MouseWheelMsg{X: 3, Y: 18, Button: tea.MouseWheelDown})
	if !m.st.Cursor.Active {
		t.Error("over the rows the wheel does not move the cursor")
	}
}

// TestMatchesAreMarked: in six themes, in the cursor's row and in others, in commands and PIDs.
func TestMatchesAreMarked(t *testing.T) {
	for _, theme := range []string{"dark", "light", "high-contrast", "colorblind", "terminal", "mono"} {
		for _, glyphs := range []cell.Glyphs{cell.UnicodeGlyphs(), cell.ASCIIGlyphs()} {
			lk := lookOf(t, theme, theme != "light", colorprofile.TrueColor, glyphs)
			st := screenOf(snapshottest.DrawnBox(), 120, 40).at(2963101, 2)
			st.find = "TRAIN.py"
			screen := strings.Join(frame(st, lk), "\n")
			if mark := string(lk.Styles.Match.Append(nil, "train.py")); !strings.Contains(screen, mark) {
				t.Errorf("%s: no %q", theme, mark)
			}
			if mark := string(lk.Styles.Strong.Append(nil, "train.py")); !strings.Contains(screen, mark) {
				t.Errorf("%s: no mark in the cursor's row", theme)
			}
			st.find = "2963112"
			if mark := string(lk.Styles.Match.Append(nil, "2963112")); !strings.Contains(strings.Join(frame(st, lk), "\n"), mark) {
				t.Errorf("%s: a pid is not marked", theme)
			}
		}
	}
}

// TestMatchOutOfSightIsMarked: a directory that the row leaves out matches too.
func TestMatchOutOfSightIsMarked(t *testing.T) {
	box := snapshottest.DrawnBox()
	for i := range box.Rows {
		if box.Rows[i].ID.Process.PID == 2963101 {
			box.Rows[i].Command = []string{"python3", "/srv/secret-project/run.py"}
		}
	}
	lk := lookOf(t, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	st := screenOf(box, 120, 40)
	st.find = "secret-proj"
	if mark := string(lk.Styles.Match.Append(nil, "run.py")); !strings.Contains(strings.Join(frame(st, lk), "\n"), mark) {
		t.Error("a row that matches out of sight is not marked")
	}
	checkFrame(t, "found", frame(st, lk), 120, 40)
}
