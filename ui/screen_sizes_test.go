package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/table"
	"vramscope/ui/uitest"
)

// boxes returns states with different contents of the screen.
func boxes() map[string]func(width, height int) *state {
	show := func(box func() *snapshot.Snapshot, change func(st *state)) func(width, height int) *state {
		return func(width, height int) *state {
			st := screenOf(box(), width, height)
			if change != nil {
				change(st)
			}
			return st
		}
	}
	nothing := func() *snapshot.Snapshot {
		s := snapshottest.DrawnBox()
		s.Rows, s.GPUs, s.Ended, s.Alerts = nil, nil, nil, nil
		return s
	}
	return map[string]func(width, height int) *state{
		"drawn":   show(snapshottest.DrawnBox, func(st *state) { st.at(snapshottest.Probeme, 10) }),
		"day-one": show(snapshottest.DayOne, nil),
		"sixteen": show(snapshottest.SixteenGPUs, nil),
		"crowded": show(func() *snapshot.Snapshot { return snapshottest.Crowded(32, 3) }, func(st *state) { st.gpuTop = 7 }),
		"nothing": show(nothing, nil),
		"driver":  show(snapshottest.NoDriver, nil),
		"past": show(snapshottest.DrawnBox, func(st *state) {
			then := *st.shown
			then.Time, then.Past = then.Time.Add(-134*time.Second), true
			st.past, st.shown = then.Time, &then
		}),
		"busy": show(snapshottest.DrawnBox, func(st *state) {
			st.shown.Simulated, st.readOnly, st.Tree, st.ScrollX, st.Filter = true, true, true, 5, "a"
			focused(st, 5)
			st.message, st.messageUntil = "flushed 2963112: 70.6G to 58.9G", st.now.Add(time.Second)
		}),
		"waiting": func(width, height int) *state { return &state{width: width, height: height, now: snapshottest.Now()} },
		"detail":  show(snapshottest.DrawnBox, func(st *state) { st.detail = true }),
	}
}

// TestEverySize: each frame is exactly as large as the screen, at many sizes.
func TestEverySize(t *testing.T) {
	if testing.Short() {
		t.Skip("long, on one goroutine")
	}
	t.Parallel()
	looks := [...]*cell.Appearance{
		lookOf(t, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs()),
		lookOf(t, "mono", true, colorprofile.ASCII, cell.ASCIIGlyphs()),
	}
	widths := []int{30, 31, 36, 39, 40, 49, 50, 59, 60, 61, 65, 66, 73, 74, 79, 80, 81, 99, 100, 101, 119, 120, 121, 159, 160, 179, 180, 199, 200, 240, 300}
	heights := []int{3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 17, 18, 23, 24, 25, 36, 39, 40, 41, 45, 46, 50, 80}
	for name, box := range boxes() {
		for i, width := range widths {
			for k, height := range heights {
				look := (i + k) % len(looks) // in turn: the layout is the same in both
				checkFrame(t, fmt.Sprintf("%s, look %d, %d×%d", name, look, width, height), frame(box(width, height), looks[look]), width, height)
			}
		}
	}
}

// checkFrame checks that a frame fills the screen and has no foreign sequences.
func checkFrame(t *testing.T, what string, lines []string, width, height int) {
	t.Helper()
	if len(lines) != height {
		t.Errorf("%s: %d lines", what, len(lines))
	}
	for i, line := range lines {
		if cells := ansi.StringWidth(line); cells != width {
			t.Errorf("%s: line %d has %d cells: %q", what, i+1, cells, line)
			return
		}
		text := line
		if strings.IndexByte(line, '\x1b') >= 0 {
			text = ansi.Strip(line)
			if strings.Count(line, "\x1b") != strings.Count(line, "\x1b[") {
				t.Errorf("%s: line %d has an escape that is no SGR: %q", what, i+1, line)
				return
			}
		}
		if at := strings.IndexFunc(text, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }); at >= 0 {
			t.Errorf("%s: line %d has the control character %q", what, i+1, text[at])
			return
		}
	}
}

func TestTooSmall(t *testing.T) {
	st := screenOf(snapshottest.DrawnBox(), 29, 10)
	if got := frame(st, drawnLook(t)); len(got) != 10 || !strings.HasPrefix(got[0], "vramscope needs 30×3") {
		t.Errorf("a screen that is too narrow shows %q", got[0])
	}
	for width := range 31 {
		for height := range 4 {
			if width >= minWidth && height >= minHeight {
				continue
			}
			checkFrame(t, "too small", frame(screenOf(snapshottest.DrawnBox(), width, height), drawnLook(t)), width, height*min(width, 1))
		}
	}
}

// TestAlarmIsVisibleAtEverySize: a GPU that fills up is marked, even on the smallest screen.
func TestAlarmIsVisibleAtEverySize(t *testing.T) {
	for _, size := range [][2]int{{30, 3}, {30, 5}, {40, 4}, {40, 8}, {60, 3}, {80, 3}, {80, 10}, {200, 4}} {
		for name, box := range map[string]func() *snapshot.Snapshot{"8": snapshottest.DrawnBox, "16": snapshottest.SixteenGPUs} {
			st := screenOf(box(), size[0], size[1])
			seen := false
			for _, line := range frame(st, drawnLook(t)) {
				seen = seen || strings.Contains(line, "! 4m10s") || strings.Contains(line, "! full in 4m10s")
			}
			if !seen {
				t.Errorf("%s GPUs at %d×%d: no alarm in\n%s", name, size[0], size[1], strings.Join(frame(st, drawnLook(t)), "\n"))
			}
		}
	}
}

// TestBadgesAreInEverySize: all badges are shown, whatever else the screen shows.
func TestBadgesAreInEverySize(t *testing.T) {
	lk := drawnLook(t)
	for width := minWidth; width <= 120; width += 3 {
		for height := minHeight; height <= 30; height++ {
			for what, change := range map[string]func(st *state){
				"an alarm": func(*state) {},
				"the past": func(st *state) { st.past = st.now.Add(-time.Minute) },
				"frozen":   func(st *state) { st.frozen = true },
				"a detail": func(st *state) { st.at(snapshottest.Leaking, 1).detail = true },
				"events":   func(st *state) { st.overlay = dialog.NewEvents(lk, st.screen()) },
				"a menu":   func(st *state) { st.overlay = dialog.NewSortBy(lk, items(table.Columns()), "USED", false) },
				"a question": func(st *state) { // which a read-only screen does not ask
					st.readOnly = false
					st.overlay = dialog.NewSignal(lk, st.screen(), st.at(snapshottest.Leaking, 1).Cursor.ID)
				},
				"a word": func(st *state) { st.message, st.messageUntil = "sent SIGTERM to 2963112", st.now.Add(time.Second) },
			} {
				s := snapshottest.DrawnBox()
				s.Simulated = true
				st := screenOf(s, width, height)
				st.readOnly = true
				change(st)
				screen := strings.Join(frame(st, lk), "\n")
				for _, badge := range st.badges() {
					said := strings.Contains(screen, badge) ||
						badge == "PAST" && strings.Contains(screen, "   L live ") ||
						badge == "FROZEN" && strings.Contains(screen, "frozen at 12:04:17   p resumes ")
					if !said {
						t.Fatalf("%d×%d with %s: no %s in\n%s", width, height, what, badge, screen)
					}
				}
			}
		}
	}
}

// withLog returns a screen of the drawn box with a log of events.
func withLog(t *testing.T, width, height int) *testModel {
	t.Helper()
	m := newTestModel(t, snapshottest.DrawnBox(), func(o *Options) {
		o.History = memoryHistory{uitest.CurveHistory{Now: uitest.DrawnAt, Every: time.Second, Curve: uitest.Leak, Log: uitest.EventLog()}}
	})
	m.send(tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

// TestLeastSizeShowsWhatIsAskedFor: at 30×3 Enter shows a process, then its figures; E shows the newest event; and menus
// show their current line.
func TestLeastSizeShowsWhatIsAskedFor(t *testing.T) {
	m := withLog(t, minWidth, minHeight)
	m.press("enter")
	m.shows("1288410")
	m.shows("71.7G")
	m.press("enter")
	m.shows("1288410 71.7G alloc 68.7G")
	m.shows("GPU 2 bob vllm serve")
	m.press("esc", "esc", "E")
	m.shows("GPU 3 PID 2963112")
	m.shows("full in 4m10s")
	m.press("j")
	m.shows("GPU 6 lost, had")
	m.press("esc", "o")
	m.shows("USED      its memory")
	m.press("esc", "O")
	m.shows("Theme     < ")
	m.press("down")
	m.shows("Interval  < ")
}

func TestNarrowEventsAreReadInFull(t *testing.T) {
	m := withLog(t, 40, 14)
	m.press("E", "j", "j", "j", "j")
	m.shows("PID 2961877 alice-of-research")
	m.shows("71.3G, out of memory x1")
}

// TestScrolledCommandsKeepTheirEnd: → moves a command only until its end is in view.
func TestScrolledCommandsKeepTheirEnd(t *testing.T) {
	st := screenOf(snapshottest.DrawnBox(), 80, 24)
	st.ScrollX = 24
	text := strings.Join(frame(st, drawnLook(t)), "\n")
	for _, want := range []string{"dlrm.py --batch 65536", "pid of another container", "Xorg :0 -nolisten tcp"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is scrolled away:\n%s", want, text)
		}
	}
}

// TestFooterShowsTheChosenInterval: the footer does not wait for the next sample.
func TestFooterShowsTheChosenInterval(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.shows(" 1s  LIVE")
	m.press("+")
	m.shows(" 2s  LIVE")
}

// TestTotalsLeaveUnknownGPUsOut: a GPU whose used memory is unknown counts neither as used nor in the total.
func TestTotalsLeaveUnknownGPUsOut(t *testing.T) {
	s := snapshottest.DrawnBox()
	s.Alerts = nil
	s.GPUs[0].Memory.Used, s.GPUs[0].Memory.Free = snapshot.Bytes{}, snapshot.Bytes{}
	st := screenOf(s, 120, 40)
	if got := alertLine(st, drawnLook(t)); !strings.Contains(got, "354G of 478G used") || !strings.Contains(got, "2 GPUs unknown") {
		t.Errorf("got %q", got)
	}
}

func TestAlertIsCutBetweenWords(t *testing.T) {
	s := snapshottest.DrawnBox()
	message := "GPU 3 has 1.20G free of 79.6G, PID 2963112 carol-of-the-research-group has to retry allocations"
	s.Alerts = []snapshot.Alert{{Kind: snapshot.AlertLowMemory, Severity: snapshot.Urgent, GPU: 3, GPUUUID: s.GPUs[3].UUID, Message: message}}
	words := strings.Fields(message)
	for width := 40; width < 100; width++ {
		got := strings.Fields(strings.TrimSuffix(alertLine(screenOf(s, width, 24), drawnLook(t)), "…"))[1:]
		for i, word := range got {
			if strings.TrimRight(word, ",") != strings.TrimRight(words[i], ",") {
				t.Errorf("%d cells: word %q instead of %q", width, word, words[i])
			}
		}
	}
}
