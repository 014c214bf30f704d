package table

// columnID names a column of the process table.
type columnID uint8

// The columns, in the order in which they stand.
const (
	columnGPU columnID = iota
	columnPID
	columnUser
	columnType
	columnRuntime
	columnSM
	columnUsed
	columnBar
	columnAllocated
	columnFragmented
	columnCached
	columnOther
	columnFlush
	columnPredicted
	columnTrend
	columnSpark
	columnCPU
	columnHost
	columnTime
	columnJob
	columnCommand
	columnCount
)

// column is one column: its title, how many cells it has without the blank
// before it, and whether a probe reports it.
type column struct {
	id    columnID
	title string
	cells int
	left  bool // text stands at the left edge, figures at the right
	parts bool // not there until the first probe has been seen
}

// columnOf is a switch and not a table, so that nothing is shared that could
// be changed.
func columnOf(id columnID) column {
	switch id {
	case columnGPU:
		return column{id: id, title: "GPU", cells: 3}
	case columnPID:
		return column{id: id, title: "PID", cells: 7}
	case columnUser:
		return column{id: id, title: "USER", cells: 8, left: true}
	case columnType:
		return column{id: id, title: "TYP", cells: 3, left: true}
	case columnRuntime:
		return column{id: id, title: "RUNTIME", cells: 7, left: true, parts: true}
	case columnSM:
		return column{id: id, title: "SM%", cells: 4}
	case columnUsed:
		return column{id: id, title: "USED", cells: 5}
	case columnBar:
		return column{id: id, cells: 16, left: true}
	case columnAllocated:
		return column{id: id, title: "ALLOC", cells: 5, parts: true}
	case columnFragmented:
		return column{id: id, title: "FRAG", cells: 5, parts: true}
	case columnCached:
		return column{id: id, title: "CACHE", cells: 5, parts: true}
	case columnOther:
		return column{id: id, title: "OTHER", cells: 5, parts: true}
	case columnFlush:
		return column{id: id, title: "FLUSH", cells: 5, parts: true}
	case columnPredicted:
		return column{id: id, title: "+60s", cells: 5}
	case columnTrend:
		return column{id: id, cells: 1}
	case columnSpark:
		return column{id: id, title: "LAST 10m", cells: 10, left: true}
	case columnCPU:
		return column{id: id, title: "CPU%", cells: 4}
	case columnHost:
		return column{id: id, title: "HOST", cells: 5}
	case columnTime:
		return column{id: id, title: "TIME", cells: 6}
	case columnJob:
		return column{id: id, title: "JOB", cells: 14, left: true}
	default:
		return column{id: columnCommand, title: "COMMAND", left: true}
	}
}

// columnNamed finds a column by its title; an unknown one is USED.
func columnNamed(title string) columnID {
	for id := range columnCount {
		if c := columnOf(id); c.title == title && title != "" {
			return id
		}
	}
	return columnUsed
}

// How much the last column keeps.
const (
	commandLeast = 12 // in a pane, where columns are dear
	commandGood  = 24 // and 28 % of the width
)

// columnsAt is the columns that a table of so many cells has. They are added
// in the order of what they are worth while the command keeps its part; the
// first that does not fit ends it, so that a wider screen never loses one.
//
// The first group is what a pane of 66 columns has whole; the second comes
// with the width.
func columnsAt(width int, b box) []column {
	first := [...]columnID{
		columnCached, columnAllocated, columnFragmented, columnUser, columnPredicted, columnTrend,
	}
	second := [...]columnID{
		columnTime, columnRuntime, columnSM, columnOther, columnType, columnJob, columnFlush, columnHost, columnCPU, columnSpark, columnBar,
	}
	var has [columnCount]bool
	left := width - 1 - 1 // the mark, and the blank before the command
	for _, id := range [...]columnID{columnGPU, columnPID, columnUsed} {
		has[id] = true
		left -= b.cells(id) + 1
	}
	left++ // the first column has no blank before it, but the mark
	add := func(ids []columnID, least int) {
		for _, id := range ids {
			c := columnOf(id)
			if !b.has(c) {
				continue
			}
			if left-b.cells(id)-1 < least {
				return
			}
			has[id] = true
			left -= b.cells(id) + 1
		}
	}
	add(first[:], commandLeast)
	if has[columnTrend] || !b.ahead && has[columnUser] {
		add(second[:], max(commandGood, (width*28+99)/100))
	}
	columns := make([]column, 0, columnCount)
	for id := range columnCommand {
		if has[id] {
			c := columnOf(id)
			c.cells = b.cells(id)
			columns = append(columns, c)
		}
	}
	last := columnOf(columnCommand)
	last.cells = max(left, 0)
	return append(columns, last)
}

// box is what the columns depend on besides the width.
type box struct {
	parts   bool // a probe has been seen
	ahead   bool // there is a forecaster
	ascii   bool // no sparklines
	wideGPU bool // GPU 10 and above with MIG: "12:3" has 4 cells
}

func (t *Table) box() box {
	b := box{parts: t.Parts, ahead: t.Forecasts, ascii: t.Appearance.Glyphs.Spark == nil}
	if t.Snapshot != nil {
		for i := range t.Snapshot.GPUs {
			gpu := &t.Snapshot.GPUs[i]
			b.wideGPU = b.wideGPU || gpu.Index >= 10 && len(gpu.Instances) > 0
		}
	}
	return b
}

// has reports whether there is anything to show in a column.
func (b box) has(c column) bool {
	switch {
	case c.parts:
		return b.parts
	case c.id == columnPredicted || c.id == columnTrend:
		return b.ahead
	case c.id == columnSpark:
		return !b.ascii
	default:
		return true
	}
}

func (b box) cells(id columnID) int {
	if id == columnGPU && b.wideGPU {
		return 4
	}
	return columnOf(id).cells
}

// sortable reports whether a column has an order: pictures have none.
func sortable(id columnID) bool {
	return id != columnSpark && id != columnBar && id != columnTrend
}

// Sortable reports whether there is a column of that title, with an order.
func Sortable(title string) bool {
	id := columnNamed(title)
	return columnOf(id).title == title && sortable(id)
}

// SortTitles are the titles of the columns at a width that have an order.
func (t *Table) SortTitles(width int) []string {
	var titles []string
	for _, c := range columnsAt(width, t.box()) {
		if sortable(c.id) {
			titles = append(titles, c.title)
		}
	}
	return titles
}

// SortTitleAt is the title at a cell of the title line, false where there is
// none to sort by.
func (t *Table) SortTitleAt(width, x int) (string, bool) {
	start := 1 // after the mark
	for _, c := range columnsAt(width, t.box()) {
		if x >= start && x < start+c.cells {
			return c.title, sortable(c.id)
		}
		start += c.cells + 1
	}
	return "", false
}
