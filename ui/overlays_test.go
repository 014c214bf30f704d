package ui

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/action/signal"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/dialog"
	"vramscope/ui/keys"
	"vramscope/ui/uitest"
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

// TestQuestionNamesItsKeys: while a question is open, the bottom line names only its keys.
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

// TestHelpedKeyActs: a user who reads about a key in the help can press it there.
func TestHelpedKeyActs(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("?", "H")
	m.shows("will it fit")
	m.press("2", "0", "G")
	m.shows("will it fit 20G")
	m.press("esc", "?", "j", "Y")
	m.shows("keys and signs") // j scrolls, Y is no key
	m.press("3")
	m.hides("keys and signs")
	if m.st.Focus == nil {
		t.Error("GPU 3 is not in focus")
	}
	m.press("j", "enter", "?", "z")
	m.hides("keys and signs")
	if !m.st.detail {
		t.Error("the detail is closed")
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

// TestEscapeMergedWithTheNextKey: on a slow line Esc and the next key arrive at once and are read as Alt and that key.
// Both count if Esc has something to close; otherwise Alt is ignored.
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

// panel is a part of the screen.
type panel interface {
	Render(width, height int) []string
}

func rendered(p panel, width, height int) string { return strings.Join(p.Render(width, height), "\n") }

// pressed plays keys to an overlay of 80×14.
func pressed(o dialog.Overlay, keys ...string) (dialog.Overlay, dialog.Outcome) {
	var out dialog.Outcome
	for _, k := range keys {
		o, out = o.Press(k, 80, 14)
	}
	return o, out
}

func TestEnterNeverConfirms(t *testing.T) {
	st := drawnState()
	d := dialog.NewSignal(uitest.Appearance(t, "", false), st.screen(), st.Cursor.ID)
	for _, name := range []string{"enter", "space", "Y", "tab", "x", "F", "1", "ctrl+j", "ctrl+m"} {
		if _, out := d.Press(name, 80, 14); out != dialog.Handled {
			t.Errorf("%q: outcome %d, want it swallowed", name, out)
		}
	}
	for _, name := range []string{"esc", "n", "q"} {
		if _, out := d.Press(name, 80, 14); out != dialog.Closed {
			t.Errorf("%q: outcome %d, want closed", name, out)
		}
	}
	if _, out := d.Press("y", 80, 14); out != dialog.Confirmed {
		t.Errorf("y: outcome %d, want confirmed", out)
	}
}

func TestSignalDialogChooses(t *testing.T) {
	st := drawnState()
	for _, tc := range []struct {
		keys []string
		want string
	}{
		{nil, "terminated"}, {[]string{"9"}, "killed"}, {[]string{"i"}, "interrupt"}, {[]string{"s"}, "stopped (signal)"},
		{[]string{"j", "j", "k"}, "interrupt"}, {[]string{"k", "k"}, "terminated"}, {[]string{"9", "t"}, "terminated"},
	} {
		o, _ := pressed(dialog.NewSignal(uitest.Appearance(t, "", false), st.screen(), st.Cursor.ID), tc.keys...)
		d := o.(dialog.Signal)
		if got := d.Signal().String(); got != tc.want {
			t.Errorf("%v chooses %q, want %q", tc.keys, got, tc.want)
		}
		if d.Process() != st.Cursor.ID.Process {
			t.Errorf("%v: another process", tc.keys)
		}
	}
	o, _ := pressed(dialog.NewSignal(uitest.Appearance(t, "", false), st.screen(), st.Cursor.ID), "9")
	if text := rendered(o, 80, 14); !strings.Contains(text, "send KILL") || !strings.Contains(text, "> 9") {
		t.Error("the chosen signal is not what the dialog says:\n" + text)
	}
}

func TestSignalDialogFollowsItsProcess(t *testing.T) {
	st := drawnState()
	d := dialog.NewSignal(uitest.Appearance(t, "", false), st.screen(), st.Cursor.ID)
	later := *st.live
	later.Rows = []snapshot.Process{carol()}
	later.Rows[0].ID.Process.StartTime = 99 // the pid was given to another process
	st.live = &later
	o := d.Follow(st.screen())
	if text := rendered(o, 80, 14); !strings.Contains(text, "it has ended") {
		t.Error("another process with the same pid passes for the one that was asked about:\n" + text)
	}
	if _, out := o.Press("y", 80, 14); out == dialog.Confirmed {
		t.Error("y signals a process that has ended")
	}
}

func TestSignalDialogNamesTheOwner(t *testing.T) {
	st := drawnState()
	for viewer, want := range map[string]string{"bob": "you are bob", "root": "allowed because you are root", "carol": ""} {
		st.live.Host.User = viewer
		text := rendered(dialog.NewSignal(uitest.Appearance(t, "", false), st.screen(), st.Cursor.ID), 80, 14)
		if got := strings.Contains(text, "carol's process"); got != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%s sees:\n%s", viewer, text)
		}
	}
}

func TestSignalDialogNamesAllGPUsOfTheProcess(t *testing.T) {
	st := drawnState()
	second := carol()
	second.GPU, second.ID.GPUUUID, second.Used = 4, "GPU-4", uitest.Known(10)
	st.live.Rows = append(st.live.Rows, second)
	text := rendered(dialog.NewSignal(uitest.Appearance(t, "", false), st.screen(), st.Cursor.ID), 80, 14)
	if !strings.Contains(text, "GPU 3,4, 80.6G used") {
		t.Error("the other GPU is not named:\n" + text)
	}
}

func TestShortDialogKeepsItsKeys(t *testing.T) {
	st := drawnState()
	d := dialog.NewSignal(uitest.Appearance(t, "", false), st.screen(), st.Cursor.ID)
	for height := dialog.MinLines; height < 20; height++ {
		text := rendered(d, 80, height)
		for _, must := range []string{"PID 2963112", "> t", "y  send TERM", "Esc  cancel"} {
			if !strings.Contains(text, must) {
				t.Errorf("%d lines without %q:\n%s", height, must, text)
			}
		}
	}
	if _, out := d.Press("y", 80, dialog.MinLines-1); out == dialog.Confirmed {
		t.Error("a dialog too small to read can be confirmed")
	}
}

func TestOverlayStaysInItsRectangle(t *testing.T) {
	lines := strings.Split(strings.Repeat("table\n", 19)+"table", "\n")
	st := drawnState()
	out := dialog.Overlaid(lines, dialog.NewSignal(uitest.Appearance(t, "", false), st.screen(), st.Cursor.ID), 80)
	if len(out) != 20 || out[0] != "table" || out[19] != "table" || lines[8] != "table" {
		t.Errorf("%d lines; first %q, last %q, source %q", len(out), out[0], out[19], lines[8])
	}
}

func TestDetailNamesOnlyAvailableKeys(t *testing.T) {
	st := changed(withoutProbe)
	st.shown.Host.User = "carol"
	lk := uitest.Appearance(t, "", false)
	if text := rendered(newDetail(st, lk, nil, true), 80, 22); !strings.Contains(text, "a attaches one") || !strings.Contains(text, "vramscope run") {
		t.Error("with everything bound the ways to a probe are not said:\n" + text)
	}
	st.shown.Host.User = "bob"
	if text := rendered(newDetail(st, lk, nil, true), 80, 22); strings.Contains(text, "attaches") {
		t.Error("bob is offered to attach to carol's process:\n" + text)
	}
	lk.Keys = keys.New(keys.CanSignal, false)
	text := rendered(newDetail(st, lk, nil, true), 80, 22)
	for _, absent := range []string{"attach", "F frees", "allocated", "cached", "LEAK", "+1m"} {
		if strings.Contains(text, absent) {
			t.Errorf("the detail speaks of %q:\n%s", absent, text)
		}
	}
}

func TestDetailForecastStopsAtTheCapacity(t *testing.T) {
	st := changed(func(p *snapshot.Process) {
		p.Predicted = []snapshot.Prediction{
			{Horizon: time.Minute, Median: 72 * quantity.GiB, Lower80: 71 * quantity.GiB, Upper80: 90 * quantity.GiB},
			{Horizon: 5 * time.Minute, Median: 95 * quantity.GiB, Lower80: 90 * quantity.GiB, Upper80: 99 * quantity.GiB},
		}
	})
	text := rendered(newDetail(st, uitest.Appearance(t, "", false), nil, true), 80, 22)
	if !strings.Contains(text, "+1m 72.0G (71.0G–full)   +5m full") {
		t.Error("forecasts over the capacity:\n" + text)
	}
}

func TestDetailSurvivesHostileCommands(t *testing.T) {
	for _, command := range [][]string{
		{strings.Repeat("\x1b[2J", 16<<10)}, {"python", strings.Repeat("日本", 20<<10)}, {"", "", "\u202e\u200b"}, nil,
		{strings.Repeat("a ", 32<<10), "b"},
	} {
		st := changed(func(p *snapshot.Process) {
			p.Command, p.User, p.Job = command, "\x1b]0;x\x07", process.Job{Kind: "pod", ID: "\n\x1b[5m"}
		})
		for _, size := range [][2]int{{80, 22}, {31, 12}, {200, 48}} {
			lines := newDetail(st, uitest.Appearance(t, "", false), nil, true).Render(size[0], size[1])
			uitest.CheckCells(t, lines, size[0], size[1])
			if strings.ContainsAny(strings.Join(lines, ""), "\x1b\x07\n\r\u202e") {
				t.Errorf("control characters of %.20q reach the screen", command)
			}
		}
	}
}
