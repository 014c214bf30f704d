package ui

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// oldEnded is a box on which processes ended minutes ago, of sizes among those of the live rows.
func oldEnded(count int) *snapshot.Snapshot {
	s := smallBox(2, 2, 0)
	for i := range count {
		last := s.Rows[i%len(s.Rows)]
		last.ID.Process = process.Identity{PID: 7000 + i, StartTime: 1}
		s.Ended = append(s.Ended, snapshot.EndedProcess{Last: last, Ended: s.Time.Add(-time.Duration(5+i) * time.Minute)})
	}
	return s
}

// TestCursorWalksThroughEndedRows: an old ended row stays at the end of the table
// also while the cursor is on it, so that each key moves the cursor on.
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

// TestSortingShowsTheTop: after another order the table shows its first rows, and
// the cursor does not stand on a process that was not chosen.
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
