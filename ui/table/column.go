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

// column is a title and its cells, without the blank before them.
type column struct {
	id    columnID
	title string
	cells int
	left  bool // text stands at the left edge, figures at the right
	parts bool // not there until the first probe has been seen
}

// allColumns are the columns by their ID. They never change.
var allColumns = [columnCount]column{
	columnGPU:        {id: columnGPU, title: "GPU", cells: 3},
	columnPID:        {id: columnPID, title: "PID", cells: 7},
	columnUser:       {id: columnUser, title: "USER", cells: 8, left: true},
	columnType:       {id: columnType, title: "TYP", cells: 3, left: true},
	columnRuntime:    {id: columnRuntime, title: "RUNTIME", cells: 7, left: true, parts: true},
	columnSM:         {id: columnSM, title: "SM%", cells: 4},
	columnUsed:       {id: columnUsed, title: "USED", cells: 5},
	columnBar:        {id: columnBar, cells: 16, left: true},
	columnAllocated:  {id: columnAllocated, title: "ALLOC", cells: 5, parts: true},
	columnFragmented: {id: columnFragmented, title: "FRAG", cells: 5, parts: true},
	columnCached:     {id: columnCached, title: "CACHE", cells: 5, parts: true},
	columnOther:      {id: columnOther, title: "OTHER", cells: 5, parts: true},
	columnFlush:      {id: columnFlush, title: "FLUSH", cells: 5, parts: true},
	columnPredicted:  {id: columnPredicted, title: "+60s", cells: 5},
	columnTrend:      {id: columnTrend, cells: 1},
	columnSpark:      {id: columnSpark, title: "LAST 10m", cells: 10, left: true},
	columnCPU:        {id: columnCPU, title: "CPU%", cells: 4},
	columnHost:       {id: columnHost, title: "HOST", cells: 5},
	columnTime:       {id: columnTime, title: "TIME", cells: 6},
	columnJob:        {id: columnJob, title: "JOB", cells: 14, left: true},
	columnCommand:    {id: columnCommand, title: "COMMAND", left: true},
}

// columnNamed finds a column by its title; an unknown one is USED.
func columnNamed(title string) columnID {
	for _, c := range allColumns {
		if c.title == title && title != "" {
			return c.id
		}
	}
	return columnUsed
}

// How much the last column keeps.
const (
	commandLeast = 12 // in a pane, where columns are dear
	commandGood  = 24 // and 28 % of the width
)

// columnsAt is the columns of a table, added by importance while the command keeps its part.
// The first that does not fit ends each group, so that a wider screen never loses one.
// The first group is what a pane of 66 columns has whole.
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
			c := allColumns[id]
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
			c := allColumns[id]
			c.cells = b.cells(id)
			columns = append(columns, c)
		}
	}
	last := allColumns[columnCommand]
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

// CommandCells is how wide the COMMAND column of a table of this width is.
func (t *Table) CommandCells(width int) int {
	columns := columnsAt(width, t.box())
	return columns[len(columns)-1].cells
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
	return allColumns[id].cells
}

// sortable reports whether a column has an order: pictures have none.
func sortable(id columnID) bool {
	return id != columnSpark && id != columnBar && id != columnTrend
}

// Sortable reports whether there is a column of that title, with an order.
func Sortable(title string) bool {
	id := columnNamed(title)
	return allColumns[id].title == title && sortable(id)
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

// SortTitleAt is the sortable title at a cell of the title line.
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
