package screen

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/fleet"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/terminal"
)

// silent is a source that is never asked.
type silent struct{ fleet.Source }

func (silent) Look(context.Context, fleet.Query) (*fleet.Picture, error) { return nil, nil }
func (silent) Totals(context.Context, fleet.Query) (fleet.Totals, error) { return fleet.Totals{}, nil }
func (silent) Box(context.Context, string, time.Time) (*snapshot.Snapshot, error) {
	return nil, nil
}
func (silent) Past(context.Context, string, time.Time, time.Time) (fleet.Past, error) {
	return nil, nil
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// shown returns a model that shows lines.
func shown(t *testing.T, width, height int, lines ...fleet.Line) *model {
	t.Helper()
	now := func() time.Time { return noon }
	m, err := newModel(Options{Poller: fleet.NewPoller(silent{}, time.Minute, now), Name: "http://engine:9090", Now: now}, terminal.NewHold(terminal.Traits{Profile: colorprofile.TrueColor}))
	if err != nil {
		t.Fatal(err)
	}
	m.width, m.height = width, height
	gib := func(n quantity.Bytes) snapshot.Bytes { return quantity.From(n*quantity.GiB, quantity.Driver) }
	count := func(n int) snapshot.Int { return quantity.From(n, quantity.Driver) }
	m.take(fleet.View{
		Picture:  &fleet.Picture{Time: noon, Unit: fleet.GPUs, Lines: lines},
		Totals:   &fleet.Totals{GPUs: count(8000), Boxes: count(1000), Down: count(2), Memory: snapshot.Memory{Used: gib(300), Total: gib(600), Free: gib(299), Reserved: gib(1)}},
		Answered: noon.Add(-3 * time.Second),
	})
	return m
}

func line(box string, index int, percent quantity.Bytes) fleet.Line {
	g := snapshot.GPU{Index: index, UUID: fmt.Sprint(box, index), State: snapshot.GPUOK}
	g.Memory = snapshot.Memory{Used: quantity.From(percent*quantity.GiB, quantity.Driver), Total: quantity.From(100*quantity.GiB, quantity.Driver)}
	return fleet.Line{Box: box + ":9841", GPU: g, GPUs: 1, User: "alice", Program: "train.py"}
}

func many(n int) []fleet.Line {
	var lines []fleet.Line
	for i := range n {
		lines = append(lines, line(fmt.Sprintf("box-%03d", i), i%8, quantity.Bytes(90-i%90)))
	}
	return lines
}

func (m *model) type_(t *testing.T, keys ...string) {
	t.Helper()
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown, "end": tea.KeyEnd, "pgdown": tea.KeyPgDown, "tab": tea.KeyTab, "backspace": tea.KeyBackspace}
	for _, k := range keys {
		if code, ok := special[k]; ok {
			m.press(tea.KeyPressMsg{Code: code})
			continue
		}
		for _, r := range k {
			m.press(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

// TestEveryFrameFillsTheScreen: each line has exactly the screen's width, at each size and in each state.
func TestEveryFrameFillsTheScreen(t *testing.T) {
	full, down, lost, unknown := line("full", 1, 95), line("down", -1, 0), line("lost", 2, 0), line("unknown", 3, 0)
	full.Alert, full.Severity, full.GPU.FullIn = snapshot.AlertFullIn, snapshot.Urgent, &snapshot.FullIn{Median: 4 * time.Minute, Earliest: 3 * time.Minute, Latest: 6 * time.Minute}
	down.State, down.Why, lost.GPU.State, unknown.GPU.Memory.Used = fleet.Down, strings.Repeat("why ", 30), snapshot.GPULost, snapshot.Bytes{}
	for _, size := range [][2]int{{40, 6}, {56, 10}, {80, 24}, {99, 30}, {120, 40}, {200, 50}, {320, 20}, {10, 3}} {
		m := shown(t, size[0], size[1], append([]fleet.Line{full, down, lost, unknown}, many(60)...)...)
		check := func(what string) {
			t.Helper()
			lines := m.frame()
			if len(lines) != size[1] {
				t.Errorf("%v %s: %d lines", size, what, len(lines))
			}
			for _, l := range lines {
				if w := ansi.StringWidth(l); w != size[0] {
					t.Errorf("%v %s: %d cells: %q", size, what, w, ansi.Strip(l))
				}
			}
		}
		check("lines")
		m.type_(t, "down", "down", "end")
		check("at the end")
		m.type_(t, "?")
		check("help")
		m.type_(t, "?", "/", strings.Repeat("x", 150))
		check("prompt")
		m.type_(t, "esc", "o")
		check("question")
		m.question = nil
		m.view.Err = errors.New(strings.Repeat("refused ", 40))
		check("an error")
		m.view.Picture, m.view.Totals = nil, nil
		check("nothing")
		m.view.Err = nil
		check("asking")
	}
}

func TestHostileNamesAreCleaned(t *testing.T) {
	l := line("evil\x1b[2J\n\x07", 0, 50)
	l.User, l.Program, l.Job, l.Why = "u\x1b]0;x\x07", "p\u202e", "j\x00", "w\x1bc"
	m := shown(t, 120, 20, l)
	for _, state := range []fleet.State{fleet.OK, fleet.Down, fleet.Stopped} {
		m.view.Picture.Lines[0].State = state
		m.view.Picture.Problems = []string{"a\x1b[2Jproblem"}
		if text := ansi.Strip(m.text()); strings.ContainsAny(strings.ReplaceAll(text, "\n", ""), "\x1b\x07\x00\u202e") || strings.Contains(m.text(), "\x1b[2J") || len(strings.Split(text, "\n")) != 20 {
			t.Errorf("state %d: %q", state, text)
		}
	}
	m.view.Picture.Lines[0].State = fleet.OK
	if m.type_(t, "o"); m.question != nil || !strings.Contains(m.message, "is no host name") {
		t.Errorf("ssh is offered: %q", m.message)
	}
}

// TestCursorKeepsItsLine: when lines move, the cursor's line keeps its place on the screen.
func TestCursorKeepsItsLine(t *testing.T) {
	lines := many(60)
	m := shown(t, 80, 24, lines...)
	m.type_(t, "pgdown", "pgdown", "down")
	at := m.cursor()
	row := at - m.Place.top
	name := lines[at].Name()
	v := m.view
	moved := append(append([]fleet.Line{}, lines[at]), append(append([]fleet.Line{}, lines[40:]...), lines[:40]...)...)
	moved = append(moved[1:25], append([]fleet.Line{lines[at]}, moved[25:]...)...)
	v.Picture = &fleet.Picture{Lines: moved}
	m.take(v)
	if l := m.chosen(); l == nil || l.Name() != name || m.cursor()-m.Place.top != row {
		t.Errorf("the cursor is on %v, row %d, and was on %s, row %d", l, m.cursor()-m.Place.top, name, row)
	}
}

func TestKeys(t *testing.T) {
	m := shown(t, 120, 30, many(50)...)
	ended := false
	m.End = func() { ended = true }
	m.type_(t, "o", "n")
	if ended || m.outcome.Shell != "" {
		t.Error("a no runs ssh")
	}
	m.type_(t, "down", "down", "o")
	if m.question == nil || ended {
		t.Fatal("no question")
	}
	m.type_(t, "y")
	if m.outcome.Shell != "box-001" || !ended {
		t.Errorf("ssh to %q", m.outcome.Shell)
	}
	m.type_(t, "/", "user=alice", "enter")
	if m.Place.Filter.String() != "user=alice" || m.cursor() >= 0 {
		t.Errorf("filter %q", m.Place.Filter)
	}
	m.type_(t, "/", " state=odd", "enter")
	if m.prompt == nil || !strings.Contains(m.message, "state=odd") {
		t.Errorf("a wrong filter is taken: %q", m.message)
	}
	m.type_(t, "esc", "esc")
	if len(m.Place.Filter) > 0 {
		t.Error("Esc leaves the filter")
	}
	m.type_(t, "s")
	for _, want := range []fleet.Unit{fleet.Users, fleet.Jobs, fleet.Boxes, fleet.GPUs} {
		if m.type_(t, "tab"); m.Place.Sort != fleet.ByUsed || m.Place.Unit != want {
			t.Errorf("%+v", m.Place)
		}
	}
	m = shown(t, 80, 24, drawnShares(fleet.Jobs)...)
	showing(m, fleet.Jobs)
	if m.type_(t, "down", "enter"); m.Place.Unit != fleet.GPUs || m.Place.Filter.String() != "job=40123" {
		t.Errorf("a job opens its GPUs: %+v", m.Place)
	}
	down := line("down", -1, 0)
	down.State, down.Why = fleet.Down, "refused"
	m = shown(t, 80, 24, down)
	m.type_(t, "enter")
	if m.opening != nil || !strings.Contains(m.message, "does not answer: refused") {
		t.Errorf("a box that is down opens: %q", m.message)
	}
}

// TestNewQuestionIsSaid: after a new query, the lines of the previous one are not shown as its answer.
func TestNewQuestionIsSaid(t *testing.T) {
	for _, keys := range [][]string{{"/", "user=bob", "enter"}, {"s"}, {"tab"}} {
		m := shown(t, 120, 20, many(3)...)
		m.type_(t, keys...)
		if text := ansi.Strip(m.text()); !strings.Contains(text, "asking…") || strings.Contains(text, "3s old") {
			t.Errorf("%q:\n%s", keys, text)
		}
		m.view.Query = fleet.Query{Filter: m.Place.Filter, Sort: m.Place.Sort, Unit: m.Place.Unit}
		if text := ansi.Strip(m.text()); strings.Contains(text, "asking…") || !strings.Contains(text, "3s old") {
			t.Errorf("%q, answered:\n%s", keys, text)
		}
	}
	m := shown(t, 120, 20, many(3)...)
	m.type_(t, "/", "user=bob", "enter")
	m.view.Err = errors.New("not reached: connection refused")
	if text := ansi.Strip(m.text()); !strings.Contains(text, "connection refused; the lines are not of this filter") {
		t.Errorf("an engine that is gone:\n%s", text)
	}
}

// TestDownIsOfTheLines: the header counts the boxes that are down by the picture, before the totals.
func TestDownIsOfTheLines(t *testing.T) {
	m := shown(t, 120, 20, many(3)...)
	m.view.Picture.Down = quantity.From(7, quantity.Computed)
	if text := ansi.Strip(m.text()); !strings.Contains(text, "  7 down") {
		t.Errorf("the header is\n%s", text)
	}
}

// TestEveryKeySaysSomething: a message says that a key has no function, or that Esc has nothing to clear.
func TestEveryKeySaysSomething(t *testing.T) {
	m := shown(t, 80, 24, many(50)...)
	for _, key := range []string{"x", "F", "7", "esc"} {
		m.message = ""
		if m.type_(t, key); m.message == "" {
			t.Errorf("%s does nothing and does not say why", key)
		}
	}
	m.view.Picture.Problems = []string{"one thing", "another"}
	if m.type_(t, "!"); !strings.Contains(ansi.Strip(m.text()), "! one thing  2 of 2, ! next") {
		t.Errorf("! shows\n%s", ansi.Strip(m.text()))
	}
	m.type_(t, "S")
	if m.Place.Sort != fleet.ByUtilization {
		t.Errorf("S sorts by %s", m.Place.Sort.Word())
	}
}

// TestOldFiguresAreNamed: after an error the previous lines stay, with their age and the reason.
func TestOldFiguresAreNamed(t *testing.T) {
	m := shown(t, 120, 20, many(3)...)
	m.view.Err = errors.New("not reached: connection refused")
	text := ansi.Strip(m.text())
	for _, want := range []string{"box-000", "connection refused; the figures are 3s old", "3s old"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	m.view = fleet.View{Asked: noon.Add(-5 * time.Second)}
	if text := ansi.Strip(m.text()); !strings.Contains(text, "asking http://engine:9090") {
		t.Errorf("nothing is said while asking:\n%s", text)
	}
}

// TestMoreLinesAreMarked: a "+" shows that the source may have more lines.
func TestMoreLinesAreMarked(t *testing.T) {
	for n, want := range map[int]string{3: "1-3 of 3  ", 80: "of 80+  "} {
		if text := ansi.Strip(shown(t, 120, 20, many(n)...).text()); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestEverySizeHasItsLegend: the legend of the bars is above or below them, once.
func TestEverySizeHasItsLegend(t *testing.T) {
	for width := leastWidth; width <= 200; width++ {
		m := shown(t, width, 24, many(30)...)
		if n := strings.Count(ansi.Strip(m.text()), "alloc"); n != 1 {
			t.Errorf("%d legends at %d cells:\n%s", n, width, ansi.Strip(m.text()))
		}
	}
}

// TestNothingMatches: at every width, an empty list says why it is empty and which key shows all lines.
func TestNothingMatches(t *testing.T) {
	for width := leastWidth; width < 120; width++ {
		m := shown(t, width, 24)
		m.view.Query.Filter, _ = fleet.ParseFilter("user=zoe")
		if lines := strings.Split(ansi.Strip(m.text()), "\n"); strings.TrimSpace(lines[3]) != "nothing matches the filter   Esc: all" {
			t.Errorf("at %d cells: %q", width, lines[3])
		}
	}
}

// text returns the frame as one text.
func (m *model) text() string { return strings.Join(m.frame(), "\n") }
