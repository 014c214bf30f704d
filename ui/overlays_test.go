package ui

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	tea "charm.land/bubbletea/v2"

	"vramscope/action/signal"
	"vramscope/internal/process"
)

func TestSignalNeedsYAndTheIdentity(t *testing.T) {
	var sent []process.Identity
	var signals []syscall.Signal
	answer := error(nil)
	m := newTestModel(t, smallBox(4, 3, 0), func(o *Options) {
		o.Actions.Signal = func(_ context.Context, r signal.Request) (signal.Result, error) {
			sent, signals = append(sent, r.Process), append(signals, r.Signal)
			return signal.Result{Signal: r.Signal}, answer
		}
	})
	m.press("j", "j")
	want := m.st.Cursor.ID.Process
	for _, no := range []string{"esc", "n", "q"} {
		m.press("x", "enter", "enter", no)
	}
	if len(sent) != 0 || m.ended {
		t.Fatal("something other than y acted")
	}
	m.press("x", "y")
	if len(sent) != 0 {
		t.Fatal("a y that came with the x, before anybody can have read the question, was taken for an answer")
	}
	m.now = m.now.Add(askingTime)
	m.press("y")
	if len(sent) != 1 || sent[0] != want || signals[0] != syscall.SIGTERM {
		t.Fatalf("sent %v to %v, want TERM to %v", signals, sent, want)
	}
	m.shows("sent SIGTERM to")
	answer = errors.New("refused: PID 1000 is another process now")
	m.press("x")
	m.now = m.now.Add(askingTime)
	m.press("y")
	m.shows("refused: PID 1000 is another process now")
}

// TestQuestionNamesItsKeys: while a question is open no other key does
// anything, so the bottom line names those that do.
func TestQuestionNamesItsKeys(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), func(o *Options) {
		o.Actions.Signal = func(context.Context, signal.Request) (signal.Result, error) { return signal.Result{}, nil }
	})
	m.press("x", "i")
	lines := strings.Split(m.screen(), "\n")
	if want := " y send INT  Esc cancel  t i 9 s c u choose "; !strings.HasPrefix(lines[23], want) {
		t.Errorf("the last line is %q, want %q", lines[23], want)
	}
	m.press("esc")
	if lines := strings.Split(m.screen(), "\n"); !strings.HasPrefix(lines[23], " ? help ") {
		t.Errorf("after the question the last line is %q", lines[23])
	}
}

func TestReadOnlyHasNoActions(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), func(o *Options) {
		o.ReadOnly = true
		o.Actions.Signal = func(context.Context, signal.Request) (signal.Result, error) {
			t.Error("it acted")
			return signal.Result{}, nil
		}
	})
	m.press("j", "x", "y")
	if m.st.overlay != nil {
		t.Error("a dialog")
	}
	m.shows("READ-ONLY")
	m.press("?")
	m.hides("signal")
}

func TestQClosesOverlayThenDetail(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	for _, open := range []string{"?", "E"} {
		m.press(open, "q")
		if m.ended || m.st.overlay != nil {
			t.Fatalf("q after %s: ended %v", open, m.ended)
		}
	}
	m.press("enter", "q")
	if m.ended || m.st.detail {
		t.Fatal("q does not close the detail first")
	}
	m.press("q")
	if !m.ended {
		t.Error("q does not quit")
	}
}

func TestTooLargeDialogCloses(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), func(o *Options) {
		o.Actions.Signal = func(context.Context, signal.Request) (signal.Result, error) {
			t.Error("it acted")
			return signal.Result{}, nil
		}
	})
	m.press("j", "x")
	if m.st.overlay == nil {
		t.Fatal("no dialog")
	}
	m.send(tea.WindowSizeMsg{Width: 100, Height: 30})
	if m.st.overlay == nil {
		t.Fatal("the dialog closed although it fits")
	}
	m.send(tea.WindowSizeMsg{Width: 40, Height: 5})
	if m.st.overlay != nil {
		t.Error("the dialog stays")
	}
	m.press("y")
}

// TestEscapeMergedWithTheNextKey: on a slow line Esc and the key after it come
// at once and look like Alt and that key. Both count where there is something
// that Esc leaves; elsewhere Alt means nothing.
func TestEscapeMergedWithTheNextKey(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("?")
	m.send(tea.KeyPressMsg{Code: 'e', ShiftedCode: 'E', Mod: tea.ModAlt | tea.ModShift})
	m.hides("keys and signs")
	m.shows("┌ Events")
	m.send(tea.KeyPressMsg{Code: 'j', Mod: tea.ModAlt})
	m.hides("┌ Events")
	if !m.st.Cursor.Active {
		t.Error("j after Esc moves nothing")
	}
	m.press("f", "x", "enter")
	m.send(tea.KeyPressMsg{Code: '?', Mod: tea.ModAlt})
	m.hides("keys and signs")
	if m.st.Filter != "x" {
		t.Error("Alt with a key does what Esc does")
	}
}
