package ui

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/gpus"
	"vramscope/ui/table"
)

func TestSetupTakesEffectAtOnce(t *testing.T) {
	m := newTestModel(t, snapshottest.DrawnBox(), nil)
	m.press("f2", "right")
	if m.theme != "dark" {
		t.Errorf("theme %s", m.theme)
	}
	m.press("down", "right", "down", "right", "down", "right", "down", "right")
	if m.st.interval().String() != "2s" || m.st.Sort.Column == "USED" || !m.st.Sort.Reversed || !m.st.lines {
		t.Errorf("interval %s, sorted by %+v, lines %v", m.st.interval(), m.st.Sort, m.st.lines)
	}
	m.press("down", "down", "space", "down", "space", "down", "down", "down", "space", "esc")
	if !m.st.mouse || !m.bell.silent {
		t.Errorf("mouse %v, no bell %v", m.st.mouse, m.bell.silent)
	}
	m.hides("USER")
	m.shows("ALLOC")
}

func TestSetupWritesTheConfiguration(t *testing.T) {
	var saved Settings
	var failed error
	m := newTestModel(t, snapshottest.DrawnBox(), func(o *Options) {
		o.SaveSettings = func(s Settings) (string, error) { saved = s; return "/home/bob/config.toml", failed }
	})
	m.press("f2")
	m.shows("w writes the configuration file")
	m.press("left", "w", "esc")
	if saved.Theme != "mono" || saved.Sort != "USED" || !saved.Bell || saved.Columns != nil {
		t.Errorf("saved %+v", saved)
	}
	m.shows("wrote /home/bob/config.toml")
	m.press("r", "f2", "w", "esc")
	if !saved.Reversed {
		t.Error("a reversed order is not saved")
	}
	failed = errors.New("cannot write /etc/x: permission denied")
	m.press("f2", "w", "esc")
	m.shows("cannot write /etc/x: permission denied")
}

// TestSetupShowsTheOutcomeOfW: at 80×24 the panel needs more lines than the screen has.
func TestSetupShowsTheOutcomeOfW(t *testing.T) {
	m := newTestModel(t, snapshottest.DrawnBox(), func(o *Options) {
		o.SaveSettings = func(Settings) (string, error) { return "", errors.New("no space left on device") }
	})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	m.press("f2")
	m.shows("Space change")
	m.press("w")
	m.shows("┌ Setup")
	m.shows("no space left on device")
}

// TestOrderWithoutADriverIsNotSaved: without a driver the table sorts by ALLOC, but USED stays the user's choice.
func TestOrderWithoutADriverIsNotSaved(t *testing.T) {
	box := snapshottest.DrawnBox()
	box.Driver.State = snapshot.DriverGone
	m := newTestModel(t, box, nil)
	if shown, saved := m.table().Order().Column, m.settings().Sort; shown != "ALLOC" || saved != "USED" {
		t.Errorf("sorted by %s, saved as %s", shown, saved)
	}
}

// TestChosenColumnsAtEveryWidth: PID and USED are always there, and lines fill the width.
func TestChosenColumnsAtEveryWidth(t *testing.T) {
	for width := minWidth; width <= 300; width += 9 {
		for _, columns := range [][]string{{"USED"}, {"CPU%", "PID", "USER", "JOB", "ALLOC", "TREND"}, {"CACHE", "BAR", "ALLOC", "FRAG", "USED", "PID", "GPU", "nonsense"}} {
			s := snapshottest.DrawnBox()
			st := screenOf(s, width, 40)
			st.Columns = columns
			lines := frame(st, drawnLook(t))
			checkFrame(t, strings.Join(columns, " "), lines, width, 40)
			screen := strings.Join(lines, "\n")
			for _, must := range []string{"PID", "USED", "2963112", "70.6G"} {
				if !strings.Contains(screen, must) {
					t.Errorf("width %d, %v: no %s in\n%s", width, columns, must, screen)
				}
			}
		}
	}
}

// helpMost is the cells of an explanation in the help, in two columns on a screen of 120 cells.
const helpMost = 117/2 - 2 - 12 - 1

// TestEveryColumnIsExplained: each column has an explanation that fits a line of the help.
func TestEveryColumnIsExplained(t *testing.T) {
	for _, c := range table.Columns() {
		if c.Name == "" || c.Help == "" || len(c.Help) > helpMost {
			t.Errorf("column %q: %q", c.Name, c.Help)
		}
	}
	for _, c := range gpus.Columns() {
		if len(c[1]) > helpMost {
			t.Errorf("column %q of a GPU: %q", c[0], c[1])
		}
	}
	screen := screenOf(snapshottest.DrawnBox(), 200, 50)
	titles := strings.Join(frame(screen, drawnLook(t))[1:3], " ") + strings.Join(frame(screen, drawnLook(t))[13:15], " ")
	for _, title := range []string{"USED/TOTAL", "FREE", "FLUSH", "UTIL", "MEM", "TEMP", "POWER", "CLOCK", "ECC", "PR", "NOTE"} {
		if !strings.Contains(titles, title) || !slices.ContainsFunc(gpus.Columns(), func(c [2]string) bool { return c[0] == title }) {
			t.Errorf("%s is not a title of the GPU lines, or is not explained", title)
		}
	}
}

func TestSortMenu(t *testing.T) {
	m := newTestModel(t, snapshottest.DrawnBox(), nil)
	m.press("f6")
	m.shows("Sort by")
	m.shows("Enter sort")
	m.press("down", "enter")
	m.shows("sorted by ALLOC, largest first")
	m.hides("Sort by")
	m.press("o", "enter")
	m.shows("sorted by ALLOC, smallest first")
	m.press("f6", "esc")
	if m.st.Sort != (table.Order{Column: "ALLOC", Reversed: true}) {
		t.Errorf("Esc sorts by %+v", m.st.Sort)
	}
}

// TestHeaderClickSaysTheDirection: a second click on a title reverses the order.
func TestHeaderClickSaysTheDirection(t *testing.T) {
	m := newTestModel(t, snapshottest.DrawnBox(), func(o *Options) { o.Mouse = true })
	m.click("ALLOC")
	m.shows("sorted by ALLOC, largest first")
	m.click("ALLOC")
	m.shows("sorted by ALLOC, smallest first")
}

// TestZoomGoesOnFromWhatIsShown: each z sets the next longer window than the shown one, also in the detail. Without a
// graph a message names the window.
func TestZoomGoesOnFromWhatIsShown(t *testing.T) {
	for _, c := range []struct {
		width, height int
		press         []string
		shows         []string // at first, then after each z
	}{
		{200, 50, nil, []string{", 10m back", ", 30m back", ", 2h back", ", 24h back", ", 5m back", ", 10m back"}},
		{120, 40, nil, []string{", 5m back", ", 10m back", ", 30m back"}},
		{80, 24, []string{"j", "enter"}, []string{", 5m back", ", 10m back"}},
		{120, 50, []string{"j", "enter"}, []string{", 10m back", ", 30m back"}},
		{80, 24, nil, []string{"help", "graph window 10m", "graph window 30m"}},
	} {
		m := newTestModel(t, smallBox(8, 8, 0), nil)
		m.send(tea.WindowSizeMsg{Width: c.width, Height: c.height})
		m.press(c.press...)
		m.shows(c.shows[0])
		for _, text := range c.shows[1:] {
			m.press("z")
			m.shows(text)
		}
	}
}

// TestGraphWindowIsConfigured: a configured window is used, and z goes on from it.
func TestGraphWindowIsConfigured(t *testing.T) {
	m := newTestModel(t, smallBox(8, 8, 0), func(o *Options) { o.Window = 20 * time.Minute })
	m.send(tea.WindowSizeMsg{Width: 200, Height: 50})
	m.shows(", 20m back")
	m.press("z")
	m.shows(", 30m back")
}
