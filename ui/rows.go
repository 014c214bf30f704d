package ui

import (
	"slices"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/gpus"
	"vramscope/ui/table"
)

func (m *model) table() *table.Table { return m.st.table(&m.look) }

func (m *model) layout() *layout { return arrange(m.st.width, m.st.height, m.st.box()) }

func (m *model) rowIDs() []snapshot.RowID {
	rows := m.table().Rows
	ids := make([]snapshot.RowID, len(rows))
	for i := range rows {
		ids[i] = rows[i].Process.ID
	}
	return ids
}

func (m *model) tableHeight() int { return m.layout().rows() }

// widestCommand returns by how many cells the COMMAND column can be scrolled.
func (m *model) widestCommand() int {
	widest := 0
	t := m.table()
	for _, r := range t.Rows {
		widest = max(widest, text.Width(cell.ShortCommand(r.Process)))
	}
	return max(widest-t.CommandCells(m.st.width), 0)
}

// stepSort sorts by the next or previous column on the screen, in the usual direction of that column.
func (m *model) stepSort(by int) bool {
	t := m.table()
	titles := t.SortTitles(m.st.width)
	at := slices.Index(titles, t.Order().Column)
	if at < 0 && by < 0 {
		at = 0
	}
	return m.sortAs(titles[(at+by+len(titles))%len(titles)], false)
}

func (m *model) sortAs(title string, reversed bool) bool {
	m.st.Sort = table.Order{Column: title, Reversed: reversed}
	m.toTop()
	return m.say("sorted by " + m.st.Sort.Words())
}

func (m *model) reverse() bool {
	return m.sortAs(m.table().Order().Column, !m.st.Sort.Reversed)
}

func items(columns []table.Column) []dialog.Item {
	list := make([]dialog.Item, len(columns))
	for i, c := range columns {
		list[i] = dialog.Item{Name: c.Name, Help: c.Help}
	}
	return list
}

// click puts the cursor on a row, or the focus on the GPU of a line or tile, or sorts by a column. A second click
// removes the focus or reverses the order.
func (m *model) click(x, y int) bool {
	if m.st.shown == nil {
		return false
	}
	lay := m.layout()
	switch {
	case lay.table.rows > 0 && y == lay.table.top:
		t := m.table()
		title, ok := t.SortTitleAt(m.st.width, x)
		switch {
		case !ok:
			return false
		case t.Order().Column == title:
			return m.reverse()
		default:
			return m.sortAs(title, false)
		}
	case y > lay.table.top && y < lay.table.top+lay.table.rows:
		t := m.table()
		at := t.First(lay.rows()) + y - lay.table.top - 1
		if at >= len(t.Rows) {
			return false
		}
		m.st.onGPUs = false
		m.setCursor(t.Rows[at].Process.ID, at, y-lay.table.top-1)
		return true
	case y >= lay.gpus.top && y < lay.gpus.top+lay.gpus.rows && !m.st.noDriver():
		line, ok := m.gpuLineAt(lay, x, y)
		return ok && m.setFocus(new(line.Place()))
	case y >= lay.tiles.top && y < lay.tiles.top+lay.tiles.rows:
		across, height := lay.tilesOf(len(m.st.shown.GPUs))
		at := (y-lay.tiles.top)/height*across + x*across/lay.width
		return at < len(m.st.shown.GPUs) && m.setFocus(&snapshot.Place{GPUUUID: m.st.shown.GPUs[at].UUID})
	}
	return false
}

func (m *model) gpuLineAt(lay *layout, x, y int) (gpus.Line, bool) {
	panel := m.st.gpus(&m.look, lay)
	lines := panel.Visible(lay.gpuLines())
	row := y - lay.gpus.top
	if lay.gpuHeader {
		row--
	}
	if lay.gpuColumns == 2 && x >= m.st.width/2 {
		row += min((len(lines)+1)/2, lay.gpuLines()/2)
	}
	if row < 0 || row >= len(lines) {
		return gpus.Line{}, false
	}
	return lines[row], true
}
