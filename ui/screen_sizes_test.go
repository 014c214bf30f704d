package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/table"
)

// boxes are states in which the screen has different things on it.
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

// TestEverySize walks the sizes from the least to the largest: each frame is
// exactly as large as the screen, whatever is on it.
func TestEverySize(t *testing.T) {
	if testing.Short() {
		t.Skip("long, on one goroutine")
	}
	looks := map[string]*cell.Appearance{
		"dark":  lookOf(t, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs()),
		"ascii": lookOf(t, "mono", true, colorprofile.ASCII, cell.ASCIIGlyphs()),
	}
	widths := []int{30, 31, 36, 39, 40, 49, 50, 59, 60, 61, 65, 66, 73, 74, 79, 80, 81, 99, 100, 101, 119, 120, 121, 159, 160, 179, 180, 199, 200, 240, 300}
	heights := []int{3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 17, 18, 23, 24, 25, 36, 39, 40, 41, 45, 46, 50, 80}
	for name, box := range boxes() {
		for lookName, lk := range looks {
			for _, width := range widths {
				for _, height := range heights {
					checkFrame(t, fmt.Sprintf("%s, %s, %d×%d", name, lookName, width, height), frame(box(width, height), lk), width, height)
				}
			}
		}
	}
}

// checkFrame is what every frame has to be.
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

// TestAlarmIsVisibleAtEverySize: a GPU that fills up is marked on the smallest screen.
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

// TestBadgesAreInEverySize: SIMULATED, READ-ONLY and PAST are shown at every size.
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
