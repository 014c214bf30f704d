package ui

import (
	"slices"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// What the model needs to know of the frame that frame draws: which rows it
// lists, how many are in view, and what stands where.

func (m *model) layout() layout { return arrange(m.st.width, m.st.height, m.st.box()) }

// rowIDs is the rows of the table, in its order.
func (m *model) rowIDs() []snapshot.RowID {
	rows := visibleRows(&m.st)
	ids := make([]snapshot.RowID, len(rows))
	for i := range rows {
		ids[i] = rows[i].process.ID
	}
	return ids
}

// tableHeight is how many rows are in view at once.
func (m *model) tableHeight() int {
	lay := m.layout()
	return lay.rows()
}

// widestCommand is how far the COMMAND column may be moved.
func (m *model) widestCommand() int {
	widest := 0
	for _, r := range visibleRows(&m.st) {
		widest = max(widest, text.Width(cell.ShortCommand(r.process)))
	}
	return max(widest-scrollStep, 0)
}

// nextSort sorts by the next column that the table shows. Its direction is
// the natural one of the column again.
func (m *model) nextSort() bool {
	var titles []string
	for _, c := range columnsAt(m.st.width, m.st.tableBox(&m.look)) {
		if sortable(c.id) {
			titles = append(titles, c.title)
		}
	}
	at := slices.Index(titles, m.st.order().column)
	return m.sortBy(titles[(at+1)%len(titles)])
}

// sortable reports whether a column has an order: pictures have none.
func sortable(id columnID) bool {
	return id != columnSpark && id != columnBar && id != columnTrend
}

func (m *model) sortBy(title string) bool {
	m.st.sort = sortOrder{column: title}
	m.keepCursor()
	m.say("sorted by " + title)
	return true
}

// click selects a row or a GPU, or sorts by a column whose title was hit;
// hit again, it sorts the other way.
func (m *model) click(x, y int) bool {
	if m.st.shown == nil {
		return false
	}
	lay := m.layout()
	switch {
	case lay.table.rows > 0 && y == lay.table.top:
		c, ok := columnUnder(columnsAt(m.st.width, m.st.tableBox(&m.look)), x)
		switch {
		case !ok || !sortable(c.id):
			return false
		case m.st.order().column == c.title:
			m.st.sort.reversed = !m.st.sort.reversed
			m.keepCursor()
			return true
		default:
			return m.sortBy(c.title)
		}
	case y > lay.table.top && y < lay.table.top+lay.table.rows:
		ids := m.rowIDs()
		at := firstRow(&m.st, visibleRows(&m.st), lay.rows()) + y - lay.table.top - 1
		if at >= len(ids) {
			return false
		}
		m.st.onGPUs = false
		m.st.cursor = cursor{active: true, id: ids[at], line: y - lay.table.top - 1}
		return true
	case y >= lay.gpus.top && y < lay.gpus.top+lay.gpus.rows && !m.st.noDriver():
		line, ok := m.gpuLineAt(&lay, x, y)
		return ok && m.setFocus(focusOn(line))
	}
	return false
}

// columnUnder is the column whose title a cell of the title line belongs to.
func columnUnder(columns []column, x int) (column, bool) {
	start := 1 // after the mark
	for _, c := range columns {
		if x >= start && x < start+c.cells {
			return c, true
		}
		start += c.cells + 1
	}
	return column{}, false
}

// gpuLineAt is the GPU, or the instance, whose line a cell belongs to.
func (m *model) gpuLineAt(lay *layout, x, y int) (gpuLine, bool) {
	rows, row := lay.gpus.rows, y-lay.gpus.top
	if lay.gpuHeader {
		rows, row = rows-1, row-1
	}
	panel := newGPUPanel(&m.st, &m.look, lay)
	lines := panel.visible(rows * lay.gpuColumns)
	if lay.gpuColumns == 2 && x >= m.st.width/2 {
		row += min((len(lines)+1)/2, rows)
	}
	if row < 0 || row >= len(lines) {
		return gpuLine{}, false
	}
	return lines[row], true
}
