package ui

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/dialog"
	"vramscope/ui/keys"
	"vramscope/ui/uitest"
)

func rendered(p panel, width, height int) string { return strings.Join(p.Render(width, height), "\n") }

// pressed plays keys to an overlay of 80×14.
func pressed(o dialog.Overlay, keys ...string) (dialog.Overlay, dialog.Outcome) {
	var out dialog.Outcome
	for _, k := range keys {
		o, out = o.Press(k, 80, 14)
	}
	return o, out
}

func TestHelpAsDrawn(t *testing.T) {
	lines := dialog.NewHelp(uitest.Appearance(t, "", false)).Render(80, 22)
	for i, want := range []string{
		"┌ vramscope 1.0.0: keys and signs ───────────────────────────────── Esc closes ┐",
		"│ MOVE                      LOOK                      ACT (asks first)         │",
		"│   ↑ ↓  j k  row             Enter     detail          F         flush cache  │",
		"│   PgUp PgDn page            / F3      find (n N)      a         attach probe │",
		"│   Home End  ends (g G)      \\ F4 f    filter          x F9      signal       │",
		"│   ← →       scroll text     u         only mine       Space U   tag, untag   │",
		"│   Tab       next panel      s F6      sort column                            │",
		"│   0-9       that GPU        r         reverse       BACK IN TIME             │",
		"│   !         next alert      t F5      tree            p         freeze screen│",
		"│   Esc       back, all       P         pin the graph   , .       10 s         │",
		"│ SET                         z         graph window    < >       1 min        │",
		"│   + -       interval        e         environment     L         live again   │",
		"│   T  m      theme, mouse    E         events                                 │",
		"│   Ctrl+L    redraw          y         copy PID      (F a x are off in        │",
		"│   Ctrl+Z    suspend         w         save snapshot the past and with        │",
		"│   q F10     quit            v         map (detail)  --read-only)             │",
		"│ BAR   ▓ other: context, libraries   ▄ unknown: no probe   █ allocated        │",
		"│       ▒ fragmented, or cached by JAX   ░ cached: F frees it   · free         │",
		"│ ROW   L leak   ↑ growing   ↓ shrinking   ~ up and down   (33G) not returnable│",
		"│       – not known   5:1 GPU 5, MIG instance 1   ? another container's process│",
		"│ G is GiB.  +60s: median forecast.  full in: median (earliest–latest, 80 %)   │",
		"└──────────────────────────────────────────────────────────────────────────────┘",
	} {
		if lines[i] != want {
			t.Errorf("line %d\n got %s\nwant %s", i, lines[i], want)
		}
	}
}

func TestHelpLeavesOutWhatIsNotThere(t *testing.T) {
	lk := uitest.Appearance(t, "", false)
	lk.Keys = keys.New(keys.CanSignal, true)
	text := rendered(dialog.NewHelp(lk), 80, 40)
	for _, gone := range []string{"flush", "F returns", "attach", "signal", "ACT", "read-only", "snapshot", "copy", "tag"} {
		if strings.Contains(text, gone) {
			t.Errorf("help speaks of %q:\n%s", gone, text)
		}
	}
	for i := range lk.Keys.All {
		if b := &lk.Keys.All[i]; b.Help().Desc != "" && !strings.Contains(text, b.Help().Desc) {
			t.Errorf("help leaves %q out", b.Help().Desc)
		}
	}
}

func TestHelpScrollsToItsEndAndBack(t *testing.T) {
	var o dialog.Overlay = dialog.NewHelp(uitest.Appearance(t, "", false))
	first := rendered(o, 40, 8)
	if strings.Contains(first, "G is GiB") {
		t.Fatal("the last line is in view at once")
	}
	o, _ = o.Press("end", 40, 8)
	if !strings.Contains(rendered(o, 40, 8), "G is GiB") {
		t.Error("End does not show the last line:\n" + rendered(o, 40, 8))
	}
	for range 99 {
		o, _ = o.Press("down", 40, 8) // beyond the end nothing moves
	}
	end := rendered(o, 40, 8)
	if o, _ = o.Press("k", 40, 8); rendered(o, 40, 8) == end {
		t.Error("k after too many j does nothing: the scroll ran past the end")
	}
	if o, _ = o.Press("g", 40, 8); rendered(o, 40, 8) != first {
		t.Error("g does not go back to the first line")
	}
	for _, name := range []string{"esc", "?", "q"} {
		if _, out := o.Press(name, 40, 8); out != dialog.Closed {
			t.Errorf("%q does not close the help", name)
		}
	}
	if _, out := o.Press("T", 40, 8); out != dialog.Ignored {
		t.Error("T is not left to the program")
	}
}

func TestDialogEnterNeverConfirms(t *testing.T) {
	st := drawnState()
	d := dialog.NewSignal(uitest.Appearance(t, "", false), st.scene(), st.Cursor.ID)
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
		o, _ := pressed(dialog.NewSignal(uitest.Appearance(t, "", false), st.scene(), st.Cursor.ID), tc.keys...)
		d := o.(dialog.Signal)
		if got := d.Signal().String(); got != tc.want {
			t.Errorf("%v chooses %q, want %q", tc.keys, got, tc.want)
		}
		if d.Process() != st.Cursor.ID.Process {
			t.Errorf("%v: another process", tc.keys)
		}
	}
	o, _ := pressed(dialog.NewSignal(uitest.Appearance(t, "", false), st.scene(), st.Cursor.ID), "9")
	if text := rendered(o, 80, 14); !strings.Contains(text, "send KILL") || !strings.Contains(text, "> 9") {
		t.Error("the chosen signal is not what the dialog says:\n" + text)
	}
}

func TestSignalDialogFollowsItsProcess(t *testing.T) {
	st := drawnState()
	d := dialog.NewSignal(uitest.Appearance(t, "", false), st.scene(), st.Cursor.ID)
	later := *st.live
	later.Rows = []snapshot.Process{carol()}
	later.Rows[0].ID.Process.StartTime = 99 // the pid was given to another process
	st.live = &later
	o := d.Follow(st.scene())
	if text := rendered(o, 80, 14); !strings.Contains(text, "it has ended") {
		t.Error("another process with the same pid passes for the one that was asked about:\n" + text)
	}
	if _, out := o.Press("y", 80, 14); out == dialog.Confirmed {
		t.Error("y signals a process that has ended")
	}
}

func TestSignalDialogSaysWhoseItIs(t *testing.T) {
	st := drawnState()
	for viewer, want := range map[string]string{"bob": "you are bob", "root": "allowed because you are root", "carol": ""} {
		st.live.Host.User = viewer
		text := rendered(dialog.NewSignal(uitest.Appearance(t, "", false), st.scene(), st.Cursor.ID), 80, 14)
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
	text := rendered(dialog.NewSignal(uitest.Appearance(t, "", false), st.scene(), st.Cursor.ID), 80, 14)
	if !strings.Contains(text, "GPU 3,4, 80.6G used") {
		t.Error("the other GPU is not named:\n" + text)
	}
}

func TestDialogKeepsItsKeysWhenThereIsNoRoom(t *testing.T) {
	st := drawnState()
	d := dialog.NewSignal(uitest.Appearance(t, "", false), st.scene(), st.Cursor.ID)
	for height := dialog.LeastLines; height < 20; height++ {
		text := rendered(d, 80, height)
		for _, must := range []string{"PID 2963112", "> t", "y  send TERM", "Esc  cancel"} {
			if !strings.Contains(text, must) {
				t.Errorf("%d lines without %q:\n%s", height, must, text)
			}
		}
	}
	if _, out := d.Press("y", 80, dialog.LeastLines-1); out == dialog.Confirmed {
		t.Error("a dialog too small to read can be confirmed")
	}
}

func TestOverlayStaysInItsRectangle(t *testing.T) {
	lines := strings.Split(strings.Repeat("table\n", 19)+"table", "\n")
	st := drawnState()
	out := dialog.Overlaid(lines, dialog.NewSignal(uitest.Appearance(t, "", false), st.scene(), st.Cursor.ID), 80)
	if len(out) != 20 || out[0] != "table" || out[19] != "table" || lines[8] != "table" {
		t.Errorf("%d lines; first %q, last %q, source %q", len(out), out[0], out[19], lines[8])
	}
}

func TestEventsStayInPlaceWhileNewOnesCome(t *testing.T) {
	log := eventLog()
	for i := range 40 {
		log = append(log, snapshot.Event{Time: uitest.DrawnAt.Add(-20*time.Hour - time.Duration(i)*time.Minute), Kind: snapshot.EventXID, Message: "old"})
	}
	st := &state{now: uitest.DrawnAt, history: uitest.CurveHistory{Log: log}}
	var o dialog.Overlay = dialog.NewEvents(uitest.Appearance(t, "", false), st.scene())
	o, _ = pressed(o, "down", "down", "down")
	before := o.Render(80, 14)[2]
	st.history = uitest.CurveHistory{Log: append([]snapshot.Event{{Time: uitest.DrawnAt, Kind: snapshot.EventXID, Message: "new"}}, log...)}
	if got := o.Follow(st.scene()).Render(80, 14)[2]; got != before {
		t.Errorf("the first line moved from\n%s to\n%s", before, got)
	}
	o, _ = pressed(o, "home")
	if text := rendered(o.Follow(st.scene()), 80, 14); !strings.Contains(text, "new") {
		t.Error("at the top the new event is not seen:\n" + text)
	}
	o, _ = pressed(o, "G")
	if text := rendered(o, 80, 14); !strings.Contains(text, "46/46") && !strings.Contains(text, "old") {
		t.Error("the end is not reached:\n" + text)
	}
}

func TestEventsOfThePastEndThere(t *testing.T) {
	st := &state{now: uitest.DrawnAt, past: uitest.DrawnAt.Add(-30 * time.Minute), history: uitest.CurveHistory{Log: eventLog()}}
	text := rendered(dialog.NewEvents(uitest.Appearance(t, "", false), st.scene()), 80, 14)
	if strings.Contains(text, "full in") || !strings.Contains(text, "sent TERM") {
		t.Error("events after the moment that is looked at:\n" + text)
	}
}

func TestPromptEdits(t *testing.T) {
	p := newPrompt(uitest.Appearance(t, "", false), "find", "")
	for _, step := range []struct{ name, text, want string }{
		{"t", "t", "t"}, {"r", "r", "tr"}, {"space", " ", "tr "}, {"日", "日", "tr 日"}, {"left", "", "tr 日"},
		{"x", "x", "tr x日"}, {"backspace", "", "tr 日"}, {"ctrl+w", "", "日"}, {"end", "", "日"}, {"ctrl+u", "", ""},
		{"q", "q", "q"}, {"home", "", "q"}, {"delete", "", ""},
	} {
		var out dialog.Outcome
		p, out = p.press(step.name, step.text)
		if p.value() != step.want || out != dialog.Handled {
			t.Fatalf("after %q: %q, outcome %d; want %q", step.name, p.value(), out, step.want)
		}
	}
	if _, out := p.press("backspace", ""); out != dialog.Closed {
		t.Error("Backspace in an empty prompt does not close it")
	}
	if got := p.insert("a\x1b[31mb\x00c\nsecond line").value(); got != "a[31mbc" {
		t.Errorf("pasted control characters stay: %q", got)
	}
	if got := p.insert(strings.Repeat("x", 1<<20)).value(); len(got) != maxPrompt {
		t.Errorf("a pasted file makes a prompt of %d", len(got))
	}
	for name, want := range map[string]dialog.Outcome{"enter": dialog.Confirmed, "esc": dialog.Closed, "f5": dialog.Ignored} {
		if _, out := p.press(name, ""); out != want {
			t.Errorf("%q: outcome %d, want %d", name, out, want)
		}
	}
}

func TestDetailPromisesNothingThatIsNotThere(t *testing.T) {
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
	for _, absent := range []string{"attach", "vramscope run", "F returns", "allocated", "cached", "LEAK", "+1m"} {
		if strings.Contains(text, absent) {
			t.Errorf("the detail speaks of %q:\n%s", absent, text)
		}
	}
}

func TestDetailNeverShowsMoreThanTheCardHas(t *testing.T) {
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
