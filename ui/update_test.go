package ui

import (
	"context"
	"errors"
	"image/color"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// testModel is a model without a terminal, and what its commands have answered.
type testModel struct {
	*model
	t     *testing.T
	now   time.Time
	ended bool
	said  []tea.Msg // messages that are not for Update: raw sequences, clipboard
}

// newTestModel is a model on an 80×24 screen that has seen the first snapshot.
func newTestModel(t *testing.T, first *snapshot.Snapshot, change func(*Options)) *testModel {
	t.Helper()
	m := &testModel{t: t, now: noon()}
	source := newFakeSource(first)
	options := Options{Source: source, Sampling: source, Now: func() time.Time { return m.now }}
	if change != nil {
		change(&options)
	}
	var err error
	m.model, err = newModel(options.withDefaults(), traits{profile: colorprofile.TrueColor})
	if err != nil {
		t.Fatal(err)
	}
	m.end = func() { m.ended = true }
	m.begin(80, 24, first)
	m.answers = answers{}
	return m
}

// send gives the model a message, and those that its commands answer with.
// Commands that wait (for a second digit, for answers) are not waited for.
func (m *testModel) send(msg tea.Msg) {
	m.t.Helper()
	_, cmd := m.Update(msg)
	m.check()
	if cmd == nil {
		return
	}
	answered := make(chan tea.Msg, 1)
	go func() { answered <- cmd() }()
	select {
	case answer := <-answered:
		switch answer.(type) {
		case snapshotMsg, pastMsg, environmentMsg, actedMsg:
			m.send(answer)
		case nil:
		default:
			m.said = append(m.said, answer)
		}
	case <-time.After(100 * time.Millisecond):
	}
}

// check looks at the frame: whole, and as wide as the screen everywhere.
func (m *testModel) check() {
	m.t.Helper()
	lines := strings.Split(m.content, "\n")
	if len(lines) != m.st.height {
		m.t.Fatalf("a frame of %d lines on a screen of %d", len(lines), m.st.height)
	}
	for i, l := range lines {
		if cells := ansi.StringWidth(l); cells != m.st.width {
			m.t.Fatalf("line %d has %d cells, the screen %d: %q", i+1, cells, m.st.width, l)
		}
	}
}

// keyNamed is the key press of a name, as KeyPressMsg.String writes it.
func keyNamed(name string) tea.KeyPressMsg {
	special := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
		"right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
		"tab": tea.KeyTab, "backspace": tea.KeyBackspace, "f10": tea.KeyF10,
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

// tick lets so much time pass and publishes a snapshot.
func (m *testModel) tick(s *snapshot.Snapshot) {
	m.t.Helper()
	m.now = s.Time
	m.send(snapshotMsg{s})
}

// screen is the frame without its colours.
func (m *testModel) screen() string { return ansi.Strip(m.content) }

// cursorLine is the screen line of the cursor's row, −1 without one.
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

func TestNoCursorUntilAMovementKey(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	for second := 1; second < 30; second++ {
		m.tick(smallBox(4, 3, second))
	}
	if m.cursorLine() >= 0 {
		t.Fatalf("a cursor that nobody asked for:\n%s", m.screen())
	}
	m.press("j")
	if m.cursorLine() != 6 {
		t.Errorf("the cursor is on line %d, want the first row, 6:\n%s", m.cursorLine(), m.screen())
	}
	m.press("esc")
	if m.cursorLine() >= 0 {
		t.Error("Esc leaves the cursor")
	}
}

// The cursor's process keeps its screen line while the rows around it move.
func TestCursorHoldsItsProcessAndItsLine(t *testing.T) {
	m := newTestModel(t, smallBox(8, 8, 0), nil)
	m.press("down", "down", "down", "down", "down", "pgdown")
	held, line := m.st.cursor.id, m.cursorLine()
	for second := 1; second < 200; second++ {
		m.tick(smallBox(8, 8, second))
		if m.st.cursor.id != held {
			t.Fatalf("second %d: the cursor went from %v to %v", second, held, m.st.cursor.id)
		}
		rows := m.rowIDs()
		at := 0
		for i := range rows {
			if rows[i] == held {
				at = i
			}
		}
		// Near the ends of the table there is nothing to scroll.
		if at >= line && at < len(rows)-12 && m.cursorLine() != line {
			t.Fatalf("second %d: the cursor's row went from line %d to %d", second, line, m.cursorLine())
		}
	}
}

func TestEndedProcessStaysUnderTheCursor(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("j", "j")
	held := m.st.cursor.id
	last := *m.atCursor()
	after := smallBox(4, 3, 0)
	for i := range after.Rows {
		if after.Rows[i].ID == held {
			after.Rows = append(after.Rows[:i], after.Rows[i+1:]...)
			break
		}
	}
	after.Gone = []snapshot.Gone{{Last: last, Ended: after.Time}}
	for range 300 { // long past the time that others see it
		after.Time = after.Time.Add(time.Second)
		again := *after
		m.tick(&again)
	}
	if m.st.cursor.id != held || !strings.Contains(strings.Split(m.screen(), "\n")[m.cursorLine()], "gone") {
		t.Errorf("the cursor's row is not the one that ended:\n%s", m.screen())
	}
	m.press("k")
	if m.st.cursor.id == held {
		t.Error("the cursor cannot leave the row that ended")
	}
}

func TestFilterWorksWhileItIsTyped(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("f", "b", "o", "b")
	m.shows(" bob ")
	m.hides(" alice ")
	m.press("esc")
	m.shows(" alice ")
	m.press("f", "b", "o", "b", "enter", "j")
	m.hides(" alice ")
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
	first := m.st.cursor.id
	m.press("enter", "n")
	second := m.st.cursor.id
	m.press("n", "n")
	if second == first || m.st.cursor.id != first {
		t.Errorf("n goes from %v to %v and back to %v", first, second, m.st.cursor.id)
	}
	m.press("N")
	if m.atCursor().GPU != 2 {
		t.Error("N leaves the matches")
	}
	m.press("/", "x", "y", "z", "enter", "n")
	m.shows("no row contains xyz")
}

func TestPasteIsNoKeys(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	before := m.screen()
	m.send(tea.PasteMsg{Content: "qx\ny"})
	if m.ended || m.screen() != before {
		t.Error("a paste was taken for keys")
	}
	m.press("f")
	m.send(tea.PasteMsg{Content: "bob\x1b[31m\nrm -rf"})
	if m.st.filter != "bob[31m" {
		t.Errorf("the filter is %q", m.st.filter)
	}
}

func TestDigitsFocusAGPU(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("2")
	for _, id := range m.rowIDs() {
		if id.GPUUUID != m.st.shown.GPUs[2].UUID {
			t.Fatalf("row %v is not on GPU 2", id)
		}
	}
	m.press("esc")
	if len(m.rowIDs()) != 12 {
		t.Errorf("Esc shows %d rows, want all 12", len(m.rowIDs()))
	}
	m.press("9")
	if m.st.focus != nil {
		t.Error("a GPU that is not there is in focus")
	}
}

func TestSecondDigitIsWaitedForWhereThereAreMoreThanTen(t *testing.T) {
	m := newTestModel(t, smallBox(16, 2, 0), nil)
	index := func() int {
		if m.st.focus == nil {
			return -1
		}
		for i := range m.st.shown.GPUs {
			if m.st.shown.GPUs[i].UUID == m.st.focus.gpuUUID {
				return i
			}
		}
		return -1
	}
	m.press("1")
	if index() != -1 {
		t.Error("1 acts before the second digit could come")
	}
	m.press("3")
	if index() != 13 {
		t.Errorf("1 3 focuses GPU %d, want 13", index())
	}
	m.press("5") // 50 is no GPU: nothing to wait for
	if index() != 5 {
		t.Errorf("5 focuses GPU %d", index())
	}
	m.press("1")
	m.send(digitMsg{m.digits.wait})
	if index() != 1 {
		t.Errorf("1 and a pause focuses GPU %d", index())
	}
	m.press("1", "j")
	if m.digits.open {
		t.Error("another key leaves the digit waiting")
	}
}

func TestScrubbingAndBack(t *testing.T) {
	history := fakeHistory{moments: []*snapshot.Snapshot{smallBox(4, 3, -120), smallBox(4, 3, -60), smallBox(4, 3, -10), smallBox(4, 3, 0)}}
	acted := false
	m := newTestModel(t, smallBox(4, 3, 0), func(o *Options) {
		o.History = history
		o.Actions.Signal = func(context.Context, process.Identity, syscall.Signal) error { acted = true; return nil }
	})
	m.press(",")
	if got := m.st.shown.Time; !got.Equal(noon().Add(-10 * time.Second)) {
		t.Fatalf(", shows %v", got)
	}
	m.shows("PAST")
	m.shows("10s ago")
	m.tick(smallBox(4, 3, 5))
	m.shows("15s ago") // the past grows older
	if m.st.shown.Time != noon().Add(-10*time.Second) {
		t.Error("a snapshot of now took the place of the past")
	}
	m.press("j", "x", "y")
	if acted || m.st.overlay != nil {
		t.Error("an action in the past")
	}
	m.press("<", "<")
	m.shows("2m05s ago") // where the history begins
	m.press("<")
	m.shows("the history begins here")
	m.press(">", ">", ">", ">")
	if !m.st.past.IsZero() || m.st.shown != m.st.live {
		t.Error("> does not arrive at now")
	}
	m.press("<", "L")
	if !m.st.past.IsZero() || m.st.shown.Past {
		t.Error("L does not go live")
	}
}

// An answer of the history that is no longer wanted changes nothing.
func TestLateMomentIsDropped(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.send(pastMsg{request: 0, snapshot: smallBox(1, 1, -10)})
	if len(m.st.shown.GPUs) != 4 {
		t.Error("a moment that nobody asked for is shown")
	}
}

func TestFreezeHoldsTheScreenAndNotTheSampling(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("p")
	m.shows("FROZEN")
	body := func() string { return strings.Join(strings.Split(m.screen(), "\n")[1:20], "\n") }
	before := body()
	m.tick(smallBox(4, 3, 20))
	if body() != before {
		t.Error("the frozen screen moved")
	}
	m.press("p")
	if body() == before {
		t.Error("the screen does not go on")
	}
	m.shows("LIVE")
}

func TestSignalNeedsYAndTheIdentity(t *testing.T) {
	var sent []process.Identity
	var signals []syscall.Signal
	answer := error(nil)
	m := newTestModel(t, smallBox(4, 3, 0), func(o *Options) {
		o.Actions.Signal = func(_ context.Context, id process.Identity, sig syscall.Signal) error {
			sent, signals = append(sent, id), append(signals, sig)
			return answer
		}
	})
	m.press("j", "j")
	want := m.st.cursor.id.Process
	for _, no := range []string{"esc", "n", "q"} {
		m.press("x", "enter", "enter", no)
	}
	if len(sent) != 0 || m.ended {
		t.Fatal("something other than y acted")
	}
	m.press("x", "y")
	if len(sent) != 1 || sent[0] != want || signals[0] != syscall.SIGTERM {
		t.Fatalf("sent %v to %v, want TERM to %v", signals, sent, want)
	}
	m.shows("sent SIGTERM to")
	answer = errors.New("refused: PID 1000 is another process now")
	m.press("x", "y")
	m.shows("refused: PID 1000 is another process now")
}

func TestRowsDoNotMoveUnderADialog(t *testing.T) {
	m := newTestModel(t, smallBox(4, 6, 0), func(o *Options) {
		o.Actions.Signal = func(context.Context, process.Identity, syscall.Signal) error { return nil }
	})
	m.press("j", "x")
	before := m.rowIDs()
	moved := false
	for second := 1; second < 8; second++ {
		m.tick(smallBox(4, 6, second))
		for i, id := range m.rowIDs() {
			if id != before[i] {
				t.Fatalf("second %d: row %d moved", second, i)
			}
		}
	}
	m.press("esc")
	for i, id := range m.rowIDs() {
		moved = moved || id != before[i]
	}
	if !moved {
		t.Error("the rows do not move even now: the test shows nothing")
	}
}

func TestReadOnlyHasNoActions(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), func(o *Options) {
		o.ReadOnly = true
		o.Actions.Signal = func(context.Context, process.Identity, syscall.Signal) error { t.Error("it acted"); return nil }
	})
	m.press("j", "x", "y")
	if m.st.overlay != nil {
		t.Error("a dialog")
	}
	m.shows("READ-ONLY")
	m.press("?")
	m.hides("signal")
}

func TestQClosesWhatLiesOnTopFirst(t *testing.T) {
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

func TestResizeKeepsEverything(t *testing.T) {
	m := newTestModel(t, smallBox(8, 8, 0), nil)
	m.press("j", "j", "j", "s", "r")
	m.st.filter = "rank"
	cursor, sorted := m.st.cursor.id, m.st.sort
	for _, size := range [][2]int{{120, 40}, {40, 8}, {30, 3}, {20, 2}, {300, 80}, {80, 24}} {
		m.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
	}
	if m.st.cursor.id != cursor || m.st.sort != sorted || m.st.filter != "rank" {
		t.Error("a resize lost cursor, order or filter")
	}
}

func TestDialogThatNoLongerFitsClosesAsNo(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), func(o *Options) {
		o.Actions.Signal = func(context.Context, process.Identity, syscall.Signal) error { t.Error("it acted"); return nil }
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

func TestGroundChoosesTheTheme(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	if !m.look.styles.Dark {
		t.Fatal("not dark before the terminal has said anything")
	}
	m.send(tea.BackgroundColorMsg{Color: color.White})
	if m.look.styles.Dark {
		t.Error("still dark on white")
	}
	m.press("T")
	if m.look.styles.Name == "vramscope" || m.theme == "" {
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
		{tea.CursorPositionMsg{X: 2, Y: 7}, false}, // not the answer to our question
	} {
		m := newTestModel(t, smallBox(4, 3, 0), nil)
		m.answers = answers{pending: m.now, width: true}
		m.send(tc.at)
		if m.look.glyphs.ascii != tc.ascii {
			t.Errorf("%+v: ASCII is %v", tc.at, m.look.glyphs.ascii)
		}
	}
}

// Nothing is drawn for a terminal that takes no output; the next frame is of
// now.
func TestStalledTerminalIsNotDrawnOn(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	stalled := true
	m.stalled = func() bool { return stalled }
	before := m.content
	m.tick(smallBox(4, 3, 30))
	if m.content != before {
		t.Error("a frame was drawn")
	}
	stalled = false
	m.send(drainedMsg{})
	if m.content == before {
		t.Error("no frame after the terminal came back")
	}
}

func TestQuitWaitsForTheTerminalsAnswers(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.answers = answers{pending: m.now}
	m.press("q")
	if m.ended {
		t.Fatal("it ended while the terminal was answering")
	}
	m.send(endMsg{})
	if !m.ended {
		t.Error("it waits for ever")
	}
}

func TestClockMovesWithoutSnapshots(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.now = noon().Add(3 * time.Second)
	m.send(clockMsg{})
	m.shows("12:00:03")
}

func TestTabWalksTheGPUs(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("tab", "j", "j")
	if m.st.focus == nil || m.st.focus.gpuUUID != m.st.shown.GPUs[2].UUID {
		t.Fatalf("the focus is %+v", m.st.focus)
	}
	m.press("tab", "j")
	if m.st.focus == nil || !m.st.cursor.active {
		t.Error("back on the table j does not move the cursor within the focus")
	}
	m.press("esc")
	if m.st.focus != nil {
		t.Error("Esc keeps the focus")
	}
}

func TestClicks(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	click := func(x, y int) { m.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}) }
	click(10, 8)
	if m.st.cursor.active {
		t.Fatal("the mouse acts while it is off")
	}
	m.press("m")
	click(10, 8)
	if m.cursorLine() != 8 {
		t.Errorf("a click on line 8 puts the cursor on %d", m.cursorLine())
	}
	m.send(tea.MouseWheelMsg{X: 10, Y: 8, Button: tea.MouseWheelDown})
	if m.cursorLine() != 11 {
		t.Errorf("the wheel puts the cursor on %d", m.cursorLine())
	}
	titles := strings.Split(m.screen(), "\n")[5]
	click(strings.Index(titles, "USER")+1, 5)
	if m.st.sort.column != "USER" {
		t.Errorf("a click on USER sorts by %q", m.st.sort.column)
	}
	click(3, 2)
	if m.st.focus == nil || m.st.focus.gpuUUID != m.st.shown.GPUs[1].UUID {
		t.Errorf("a click on GPU 1 focuses %+v", m.st.focus)
	}
}

// A panic in an update ends the program instead of leaving it in raw mode.
func TestPanicIsCaught(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	var crash *Crash
	m.crashes = &crashes{end: func(err error) { errors.As(err, &crash) }}
	m.options.Now = func() time.Time { panic("no time") }
	if next, _ := m.Update(clockMsg{}); next == nil {
		t.Error("no model after a panic")
	}
	if crash == nil || !strings.Contains(crash.Error(), "no time") || crash.ExitCode() != 2 {
		t.Errorf("got %v", crash)
	}
}
