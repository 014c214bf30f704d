package ui

import (
	"slices"

	"vramscope/sampler/snapshot"
	"vramscope/ui/table"
)

// The cursor stays on its process, and on its line of the screen, while rows move. There is no cursor
// until the user moves it or a key needs a process: the table shows its first rows.

func (m *model) move(by int) bool {
	ids := m.rowIDs()
	if len(ids) == 0 {
		return false
	}
	at := slices.Index(ids, m.st.Cursor.ID)
	if !m.st.Cursor.Active || at < 0 {
		if by > 0 {
			by-- // without a cursor, down is the first row
		}
		return m.moveTo(ids, max(by, 0))
	}
	return m.moveTo(ids, at+by)
}

// moveTo puts the cursor on a row and scrolls as little as possible.
func (m *model) moveTo(ids []snapshot.RowID, to int) bool {
	to = min(max(to, 0), len(ids)-1)
	height := max(m.tableHeight(), 1)
	line := m.st.Cursor.Line
	if at := slices.Index(ids, m.st.Cursor.ID); m.st.Cursor.Active && at >= 0 {
		line = min(line, at) + to - at
	} else {
		line = to
	}
	before := m.st.Cursor
	m.setCursor(ids[to], to, min(max(line, 0), min(height-1, to)))
	return before != m.st.Cursor
}

func (m *model) setCursor(id snapshot.RowID, row, line int) {
	if !m.st.Cursor.Active || m.st.Cursor.ID != id {
		m.st.Cursor = table.Cursor{Active: true, ID: id, Since: m.st.moment()}
	}
	m.st.Cursor.Row, m.st.Cursor.Line = row, line
}

// toTop shows the first rows after a change of order or filter. If they lack the process under the cursor, toTop
// removes the cursor: it must not move to a process that the user has not chosen.
func (m *model) toTop() {
	if at := slices.Index(m.rowIDs(), m.st.Cursor.ID); m.st.Cursor.Active && at >= 0 && at < m.tableHeight() {
		m.st.Cursor.Row, m.st.Cursor.Line = at, at
		return
	}
	m.st.Cursor = table.Cursor{}
}

// keepCursor must be called when the rows may have changed. If the process under the cursor is no longer listed, the
// cursor moves to the row that has taken its place.
func (m *model) keepCursor() {
	c := &m.st.Cursor
	if !c.Active {
		return
	}
	ids := m.rowIDs()
	if len(ids) == 0 {
		return // the rows may come back
	}
	at := slices.Index(ids, c.ID)
	if at < 0 {
		at = min(c.Row, len(ids)-1)
		m.setCursor(ids[at], at, c.Line)
	}
	c.Row, c.Line = at, min(c.Line, at, max(m.tableHeight()-1, 0))
}

func (m *model) dropCursor() bool {
	had := m.st.Cursor.Active || m.st.ScrollX != 0 || m.st.gpuTop != 0
	m.st.Cursor = table.Cursor{}
	m.st.ScrollX, m.st.gpuTop = 0, 0
	return had
}

// atCursor returns the running or ended process under the cursor, nil if there is none.
func (m *model) atCursor() *snapshot.Process {
	if !m.st.Cursor.Active {
		return nil
	}
	return m.st.shown.AnyRow(m.st.Cursor.ID)
}

// needCursor returns atCursor for a key that needs a process. If there is no cursor, it first puts the cursor on
// the process whose detail is beside the graph, or else on the first row. A message says if no process is listed.
func (m *model) needCursor() *snapshot.Process {
	if ids := m.rowIDs(); !m.st.Cursor.Active && len(ids) > 0 {
		at := 0
		if m.layout().detail.rows > 0 {
			at = max(slices.Index(ids, detailed(&m.st, m.table().Rows)), 0)
		}
		m.moveTo(ids, at)
	}
	p := m.atCursor()
	if p == nil {
		m.say("no process is listed")
	}
	return p
}
