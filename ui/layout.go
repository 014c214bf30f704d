package ui

import (
	"vramscope/ui/gpus"
	"vramscope/ui/graph"
	"vramscope/ui/table"
)

// layout has the rectangles of the screen.
//
//	header │ GPU header │ GPU lines │ table │ tiles │ graph, detail beside it │ alert │ keys
//
// It depends on the size and on box; numbers of processes count in steps. A small pane drops, in this order, the table,
// the alert's own line, the header and GPU lines. GPU lines with an urgent alert go last.
type layout struct {
	width, height int

	header rect
	gpus   rect // with its header line where gpuHeader is set
	spare  rect // rows left over, for the legend
	table  rect // with its header line; without rows if it does not fit
	tiles  rect // a small graph of each GPU, where the other parts leave room
	graph  rect
	detail rect // beside the graph
	alert  rect
	keys   rect

	gpuHeader  bool
	gpuColumns int  // 1 or 2
	tileRows   int  // how many tiles stand below each other
	instances  bool // MIG instances have their own lines
}

// rect is a rectangle of the screen. Without rows it is not drawn.
type rect struct{ top, rows, cells int }

// The sizes at which the layout changes.
const (
	minWidth, minHeight   = 30, 3
	fullWidth, fullHeight = 80, 24 // a smaller screen is a pane, without some parts
	detailWidth           = 180
	detailHeight          = 46

	minTable  = 1 + 6 // header and rows
	goodTable = 1 + 12
	minGraph  = 12
	maxGraph  = 16 // or a quarter of a high screen; rows left over are added

	minTile      = graph.GoodHeight
	minTileWidth = 44

	// With at most fewGPUs the graph comes before the table's sixth row.
	fewGPUs  = 2
	tableFew = 1 + 5
)

type box struct {
	gpus      int
	instances int  // all MIG instances
	opened    int  // MIG instances of the GPU in focus
	noDriver  bool // the driver's screen replaces the GPU lines
	tableOnly bool // Enter in a pane too small for GPU lines and table: the table
	focused   bool // a GPU or instance is in focus
	inFocus   int  // rows of running processes in focus
	running   int  // all rows of running processes
}

func arrange(width, height int, b box) *layout {
	lay := &layout{width: width, height: height, gpuColumns: 1}
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
	default: // first alert and keys share a line, then the header is left out
		gpuRows = min(gpuRows, height-1)
		header := 0
		if height >= gpuRows+2 {
			header = 1
		}
		lay.stack(header, gpuRows, 0, 0, 0)
	}
	return lay
}

// twoColumns reports whether the GPU lines need two columns. Lines of MIG instances need the whole width.
func twoColumns(width, height int, b box) bool {
	const half = 29 // index, 10 cells of bar, used, utilization and temperature or an alarm
	return b.gpus > 8 && b.opened == 0 && width >= 2*half+2 && (height < 40 || b.gpus > 16)
}

// withTable gives the free rows, in this order, to the table, the graph, the lines of MIG instances, the graph again, the
// table's other processes, the tiles, and the graph. With a focus only table and graph get rows, if both have room.
func (lay *layout) withTable(gpuRows, free int, b box) {
	if table := tableFor(b.inFocus, 4); b.focused && !b.noDriver && free-table >= graph.MinHeight {
		lay.stack(1, gpuRows, 0, table, free-table)
		lay.besideGraph()
		return
	}
	rows := min(free, goodTable)
	if rest := free - max(b.instances-b.opened, 0) - minGraph; b.gpus <= fewGPUs && rest >= tableFew {
		rows = min(rows, rest)
	}
	free -= rows
	curve := 0
	if free >= minGraph && !b.noDriver {
		curve = minGraph
		free -= curve
	}
	if more := b.instances - b.opened; more > 0 && more <= free && lay.gpuColumns == 1 {
		lay.instances = true
		gpuRows, free = gpuRows+more, free-more
	}
	tiles := 0
	if curve > 0 {
		more := min(free, max(maxGraph, lay.height/4)-minGraph)
		curve, free = curve+more, free-more
		more = min(free, max(tableFor(b.running+table.MaxEnded, 6)-rows, 0))
		rows, free = rows+more, free-more
		tiles = lay.tile(b.gpus, free)
		curve, free = curve+free, 0
	}
	lay.stack(1, gpuRows, 0, rows+free, curve)
	lay.tiles = rect{lay.graph.top, tiles, lay.width}
	lay.graph.top, lay.graph.rows = lay.graph.top+tiles, lay.graph.rows-tiles
	lay.besideGraph()
}

// tile chooses the number of rows of tiles that uses most of the free rows, and
// returns their height, 0 if there are none. A single GPU has no tile, because the graph shows it.
func (lay *layout) tile(gpus, free int) (height int) {
	for down := 1; gpus > 1 && down <= gpus; down++ {
		across := (gpus + down - 1) / down
		width := (lay.width+1)/across - 1
		rows := min(free/down, width/3)
		if width >= minTileWidth && rows >= minTile && rows*down > height && across*(down-1) < gpus {
			lay.tileRows, height = down, rows*down
		}
	}
	return height
}

// tilesOf returns how many tiles stand side by side, and the height of each.
func (lay *layout) tilesOf(gpus int) (across, height int) {
	return (gpus + lay.tileRows - 1) / lay.tileRows, lay.tiles.rows / lay.tileRows
}

func (lay *layout) besideGraph() {
	if lay.graph.rows >= maxGraph && lay.width >= detailWidth && lay.height >= detailHeight {
		lay.graph.cells = lay.width * 3 / 5
		lay.detail = rect{lay.graph.top, lay.graph.rows, lay.width - lay.graph.cells - 1}
	}
}

// tableFor returns the height of a table with this many rows. The height changes in steps, so that the layout seldom
// changes when a process comes or goes.
func tableFor(rows, step int) int {
	return 1 + (rows/step+1)*step
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

// over returns the rectangle whose middle an overlay covers: the table or, if the table is too low, the table and
// the graph, or the page.
func (lay *layout) over(rows int) rect {
	switch {
	case lay.table.rows == 0, lay.height < fullHeight && lay.table.rows+lay.graph.rows < rows:
		return lay.page()
	case lay.table.rows < rows:
		return rect{lay.table.top, lay.table.rows + lay.graph.rows, lay.width}
	default:
		return lay.table
	}
}

// page returns the rectangle of the detail and of a GPU's page: all lines above the alert line. Except in a small pane,
// the header stays.
func (lay *layout) page() rect {
	top := 0
	if lay.height >= fullHeight {
		top = lay.header.rows
	}
	return rect{top, max(lay.height-lay.alert.rows-lay.keys.rows, 0) - top, lay.width}
}
