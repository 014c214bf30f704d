package ui

import (
	"vramscope/ui/gpus"
	"vramscope/ui/graph"
)

// layout is the rectangles of the screen.
//
//	header │ GPU header │ GPU lines │ table │ graph, detail beside it │ alert │ keys
//
// It depends on the size and on the hardware of the box, not on values, so that only
// data moves. A small pane drops, in this order, the table, the keys, the alert and
// GPU lines. GPU lines with an alert and one line about the worst alert stay.
type layout struct {
	width, height int

	header rect
	gpus   rect // with its header line where gpuHeader is set
	spare  rect // left over: the legend
	table  rect // with its header line; without rows where it does not fit
	graph  rect
	detail rect // beside the graph
	alert  rect
	keys   rect

	gpuHeader  bool
	gpuColumns int  // 1 or 2
	instances  bool // MIG instances have their own lines
}

// rect is a rectangle of the screen. Without rows it is not drawn.
type rect struct{ top, rows, cells int }

// The sizes at which the layout changes.
const (
	minWidth, minHeight   = 30, 3
	fullWidth, fullHeight = 80, 24 // below is a pane, without some parts
	detailWidth           = 180
	detailHeight          = 46

	minTable  = 1 + 6 // header and rows
	goodTable = 1 + 12
	minGraph  = 12
	maxGraph  = 16

	// With so few GPUs the graph comes before the table's sixth row.
	fewGPUs  = 2
	tableFew = 1 + 5
)

type box struct {
	gpus      int
	instances int  // all MIG instances
	opened    int  // MIG instances of the GPU in focus
	noDriver  bool // the driver's screen replaces the GPU lines
	tableOnly bool // a pane too small for both shows the table
	focused   bool // a GPU or instance is in focus
	inFocus   int  // running processes there
}

func arrange(width, height int, b box) layout {
	lay := layout{width: width, height: height, gpuColumns: 1}
	gpuRows := b.gpus + b.opened
	if twoColumns(width, height, b) {
		lay.gpuColumns, gpuRows = 2, (b.gpus+1)/2
	}
	if b.noDriver {
		gpuRows = driverRows
	}
	const around = 3 // header, alert, keys
	free := height - around - gpuRows
	if width >= gpus.LegendWidth && !b.noDriver && free > minTable {
		lay.gpuHeader = true
		gpuRows, free = gpuRows+1, free-1
	}
	if free < minTable && height >= fullHeight {
		gpuRows, free = gpuRows+free-minTable, minTable // the GPU lines scroll
	}
	if b.tableOnly && free < 2 {
		gpuRows, free = 0, height-around
	}
	if b.tableOnly && free < 2 {
		lay.stack(0, 0, 0, height-1, 0) // the last line shows alert or keys
		return lay
	}
	switch {
	case free >= 2:
		lay.withTable(gpuRows, free, b)
	case free >= 0:
		lay.stack(1, gpuRows, free, 0, 0)
	default: // alert and keys share a line, then the header goes
		gpuRows = min(gpuRows, height-1)
		header := 0
		if height >= gpuRows+2 {
			header = 1
		}
		lay.stack(header, gpuRows, 0, 0, 0)
	}
	return lay
}

// twoColumns reports whether the GPU lines need two columns. Lines of MIG instances need
// the whole width.
func twoColumns(width, height int, b box) bool {
	const half = 29 // index, 10 cells of bar, used, utilisation and temperature or an alarm
	return b.gpus > 8 && b.opened == 0 && width >= 2*half+2 && (height < 40 || b.gpus > 16)
}

// withTable shares the free rows out: to the table, the graph, the lines of MIG instances,
// the graph again, and the rest to the table.
func (lay *layout) withTable(gpuRows, free int, b box) {
	if table := tableInFocus(b); b.focused && !b.noDriver && free-table >= graph.MinHeight {
		lay.stack(1, gpuRows, 0, table, free-table)
		lay.besideGraph()
		return
	}
	table := min(free, goodTable)
	if rest := free - max(b.instances-b.opened, 0) - minGraph; b.gpus <= fewGPUs && rest >= tableFew {
		table = min(table, rest)
	}
	free -= table
	curve := 0
	if free >= minGraph && !b.noDriver {
		curve = minGraph
		free -= curve
	}
	if more := b.instances - b.opened; more > 0 && more <= free && lay.gpuColumns == 1 {
		lay.instances = true
		gpuRows, free = gpuRows+more, free-more
	}
	if curve > 0 {
		more := min(free, maxGraph-minGraph)
		curve, free = curve+more, free-more
	}
	lay.stack(1, gpuRows, 0, table+free, curve)
	lay.besideGraph()
}

func (lay *layout) besideGraph() {
	if lay.graph.rows >= maxGraph && lay.width >= detailWidth && lay.height >= detailHeight {
		lay.graph.cells = lay.width * 3 / 5
		lay.detail = rect{lay.graph.top, lay.graph.rows, lay.width - lay.graph.cells - 1}
	}
}

// tableInFocus is the height of a table that lists one GPU: the graph gets the other rows.
// It changes in steps of four rows, so that one process more or less moves nothing.
func tableInFocus(b box) int {
	const step = 4
	return 1 + (b.inFocus/step+1)*step
}

func (lay *layout) stack(header, gpus, spare, table, graph int) {
	top := 0
	place := func(rows int) rect {
		r := rect{top, rows, lay.width}
		top += rows
		return r
	}
	lay.header = place(header)
	lay.gpus = place(gpus)
	lay.spare = place(spare)
	lay.table = place(table)
	lay.graph = place(graph)
	if lay.height-top >= 2 {
		lay.alert = place(1)
	}
	lay.keys = place(lay.height - top)
}

func (lay *layout) rows() int { return max(lay.table.rows-1, 0) }

func (lay *layout) gpuLines() int {
	if lay.gpuHeader {
		return (lay.gpus.rows - 1) * lay.gpuColumns
	}
	return lay.gpus.rows * lay.gpuColumns
}

// over is the rectangle of a question: the table, and the graph or more where the table
// is too low.
func (lay *layout) over(rows int) rect {
	switch {
	case lay.table.rows == 0, lay.height < fullHeight && lay.table.rows+lay.graph.rows < rows:
		return lay.above()
	case lay.table.rows < rows:
		return rect{lay.table.top, lay.table.rows + lay.graph.rows, lay.width}
	default:
		return lay.table
	}
}

// page is the rectangle of the detail and of a GPU's page: everything between the header and
// the alert line. A pane gives them the header's line too.
func (lay *layout) page() rect {
	r := lay.above()
	if lay.height >= fullHeight {
		r.top, r.rows = lay.header.rows, r.rows-lay.header.rows
	}
	return r
}

// above is everything above the alert line.
func (lay *layout) above() rect {
	return rect{0, max(lay.height-lay.alert.rows-lay.keys.rows, 0), lay.width}
}

// below is everything below the header: the rectangle of the help.
func (lay *layout) below() rect {
	return rect{lay.header.rows, lay.height - lay.header.rows, lay.width}
}
