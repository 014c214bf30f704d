package ui

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/action/signal"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

func TestNoCursorUntilAMovementKey(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	for second := 1; second < 30; second++ {
		m.tick(smallBox(4, 3, second))
	}
	if m.cursorLine() >= 0 {
		t.Fatalf("a cursor before any movement key:\n%s", m.screen())
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

func TestCursorStaysOnItsProcessAndLine(t *testing.T) {
	m := newTestModel(t, smallBox(8, 8, 0), nil)
	m.press("down", "down", "down", "down", "down", "pgdown")
	held, line := m.st.Cursor.ID, m.cursorLine()
	for second := 1; second < 200; second++ {
		m.tick(smallBox(8, 8, second))
		if m.st.Cursor.ID != held {
			t.Fatalf("second %d: the cursor went from %v to %v", second, held, m.st.Cursor.ID)
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
	held := m.st.Cursor.ID
	last := *m.atCursor()
	after := smallBox(4, 3, 0)
	for i := range after.Rows {
		if after.Rows[i].ID == held {
			after.Rows = append(after.Rows[:i], after.Rows[i+1:]...)
			break
		}
	}
	after.Ended = []snapshot.EndedProcess{{Last: last, Ended: after.Time}}
	for range 300 { // longer than any other ended row is listed
		after.Time = after.Time.Add(time.Second)
		again := *after
		m.tick(&again)
	}
	if m.st.Cursor.ID != held || !strings.Contains(strings.Split(m.screen(), "\n")[m.cursorLine()], "ended") {
		t.Errorf("the cursor's row is not the one that ended:\n%s", m.screen())
	}
	m.press("k")
	if m.st.Cursor.ID == held {
		t.Error("the cursor cannot leave the row that ended")
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
	if m.st.Focus != nil {
		t.Error("a GPU that is not there is in focus")
	}
	m.shows("there is no GPU 9")
}

// TestDigitsAreGPUIndices: with --gpu 3,12 there are two GPUs, and 12 needs two digits.
func TestDigitsAreGPUIndices(t *testing.T) {
	s := smallBox(2, 2, 0)
	s.GPUs[0].Index, s.GPUs[1].Index = 3, 12
	m := newTestModel(t, s, nil)
	m.press("1", "2")
	if m.st.Focus == nil || m.st.Focus.GPUUUID != s.GPUs[1].UUID {
		t.Fatalf("1 2 puts %+v in focus, want GPU 12", m.st.Focus)
	}
	m.shows("GPU 12  1-2/2")
	m.press("3")
	if m.st.Focus == nil || m.st.Focus.GPUUUID != s.GPUs[0].UUID {
		t.Errorf("3 puts %+v in focus, want GPU 3", m.st.Focus)
	}
}

func TestFirstOfTwoDigitsWaits(t *testing.T) {
	m := newTestModel(t, smallBox(16, 2, 0), nil)
	index := func() int {
		if m.st.Focus == nil {
			return -1
		}
		for i := range m.st.shown.GPUs {
			if m.st.shown.GPUs[i].UUID == m.st.Focus.GPUUUID {
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

func TestRowsDoNotMoveUnderADialog(t *testing.T) {
	m := newTestModel(t, smallBox(4, 6, 0), func(o *Options) {
		o.Actions.Signal = func(context.Context, signal.Request) (signal.Result, error) { return signal.Result{}, nil }
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

func TestTabMovesAmongGPUs(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("tab", "j", "j")
	if m.st.Focus == nil || m.st.Focus.GPUUUID != m.st.shown.GPUs[2].UUID {
		t.Fatalf("the focus is %+v", m.st.Focus)
	}
	m.press("tab", "j")
	if m.st.Focus == nil || !m.st.Cursor.Active {
		t.Error("back on the table j does not move the cursor within the focus")
	}
	m.press("esc")
	if m.st.Focus != nil {
		t.Error("Esc keeps the focus")
	}
}

// TestAllKeysMoveAmongGPUs: Home, End, PgUp and PgDn move the focus, too.
func TestAllKeysMoveAmongGPUs(t *testing.T) {
	m := newTestModel(t, smallBox(40, 3, 0), nil)
	m.press("tab")
	for _, c := range []struct {
		key      string
		from, to int
	}{{"end", 39, 39}, {"home", 0, 0}, {"pgdown", 5, 38}, {"pgup", 0, 0}} {
		m.press(c.key)
		at := slices.IndexFunc(m.st.shown.GPUs, func(g snapshot.GPU) bool { return g.UUID == m.st.Focus.GPUUUID })
		if at < c.from || at > c.to || m.st.Cursor.Active {
			t.Errorf("%s moves to GPU %d, the table's cursor is there: %v", c.key, at, m.st.Cursor.Active)
		}
	}
}

func TestClicks(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	click := func(x, y int) { m.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}) }
	click(10, 8)
	if m.st.Cursor.Active {
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
	if m.st.Sort.Column != "USER" {
		t.Errorf("a click on USER sorts by %q", m.st.Sort.Column)
	}
	click(3, 2)
	if m.st.Focus == nil || m.st.Focus.GPUUUID != m.st.shown.GPUs[1].UUID {
		t.Errorf("a click on GPU 1 focuses %+v", m.st.Focus)
	}
}

// TestKeysMeanTheDetailBesideTheGraph: without a cursor, keys act on the process whose detail is beside the graph.
func TestKeysMeanTheDetailBesideTheGraph(t *testing.T) {
	m := newTestModel(t, snapshottest.DrawnBox(), nil)
	m.send(tea.WindowSizeMsg{Width: 200, Height: 50})
	m.shows("── PID 2963112 ─")
	m.press("enter")
	m.shows("GPU 3  PID 2963112  carol")
	m.press("esc", "esc", "0")
	m.shows("── PID 2963101 ─")
	m.press("enter")
	m.shows("GPU 0  PID 2963101  alice")
}

// oldEnded returns a box on which processes ended minutes ago, with the memory of running ones.
func oldEnded(count int) *snapshot.Snapshot {
	s := smallBox(2, 2, 0)
	for i := range count {
		last := s.Rows[i%len(s.Rows)]
		last.ID.Process = process.Identity{PID: 7000 + i, StartTime: 1}
		s.Ended = append(s.Ended, snapshot.EndedProcess{Last: last, Ended: s.Time.Add(-time.Duration(5+i) * time.Minute)})
	}
	return s
}

// TestCursorWalksThroughEndedRows: an old ended row stays at the end of the table even while the cursor is on it.
func TestCursorWalksThroughEndedRows(t *testing.T) {
	m := newTestModel(t, oldEnded(4), nil)
	before := m.rowIDs()
	var walked []snapshot.RowID
	for range before {
		m.press("j")
		walked = append(walked, m.st.Cursor.ID)
	}
	for i := range before {
		if walked[i] != before[i] {
			t.Fatalf("step %d is on PID %d, want %d:\n%s", i, walked[i].Process.PID, before[i].Process.PID, m.screen())
		}
	}
	for i := len(before) - 2; i >= 0; i-- {
		if m.press("k"); m.st.Cursor.ID != before[i] {
			t.Fatalf("back at row %d the cursor is on PID %d", i, m.st.Cursor.ID.Process.PID)
		}
	}
}

// TestSortingShowsTheTop: a new order shows the first rows, and leaves the cursor on the chosen process or removes it.
func TestSortingShowsTheTop(t *testing.T) {
	for _, key := range []string{"r", "s"} {
		m := newTestModel(t, smallBox(8, 8, 0), nil)
		m.press("j", key)
		if first := m.table().First(m.tableHeight()); first != 0 {
			t.Errorf("after j %s the table begins with row %d:\n%s", key, first+1, m.screen())
		}
	}
	m := newTestModel(t, smallBox(8, 8, 0), nil)
	m.press("j")
	chosen := m.st.Cursor.ID
	m.press("r", "r")
	if m.st.Cursor.Active && m.st.Cursor.ID != chosen {
		t.Error("sorting chose another process")
	}
	m.press("end", "f")
	m.press(strings.Split("rank", "")...)
	m.press("enter")
	if first := m.table().First(m.tableHeight()); first != 0 {
		t.Errorf("after a filter the table begins with row %d:\n%s", first+1, m.screen())
	}
}

// TestCursorGoesToTheRowInItsPlace: in a scrolled table, too, when the process under it vanishes.
func TestCursorGoesToTheRowInItsPlace(t *testing.T) {
	without := func(gone ...snapshot.RowID) *snapshot.Snapshot {
		s := smallBox(8, 8, 0)
		s.Time = s.Time.Add(time.Duration(len(gone)) * time.Second)
		s.Rows = slices.DeleteFunc(s.Rows, func(p snapshot.Process) bool { return slices.Contains(gone, p.ID) })
		return s
	}
	m := newTestModel(t, without(), nil)
	for range 40 {
		m.press("j")
	}
	ids, held := m.rowIDs(), m.st.Cursor.ID
	at := slices.Index(ids, held)
	m.tick(without(ids[0])) // a row above
	if m.st.Cursor.ID != held {
		t.Errorf("the cursor left its process")
	}
	m.tick(without(ids[0], held))
	if m.st.Cursor.ID != ids[at+1] || !m.st.Cursor.Since.Equal(m.now) {
		t.Errorf("the cursor is on row %d of %d, want %d; since %v", slices.Index(ids, m.st.Cursor.ID), len(ids), at+1, m.st.Cursor.Since)
	}
}
