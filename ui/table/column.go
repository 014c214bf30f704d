package table

import (
	"slices"

	"vramscope/metric"
)

type columnID uint8

// The columns, from left to right.
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

// Column is a title and its cells, without the blank before them.
type Column struct {
	id     columnID
	title  string
	amount metric.ID // the metric of a column of memory
	Name   string    // in menus and in the configuration file; the title, if there is one
	cells  int
	grows  int    // cells that it may grow, if the command leaves room
	left   bool   // text at the left edge
	parts  bool   // left out until a probe has been seen
	Off    bool   // left out unless chosen
	Fixed  bool   // never left out
	Help   string // the meaning in one line
}

// allColumns are the columns by their ID. They never change.
var allColumns = [columnCount]Column{
	columnGPU:        {id: columnGPU, title: "GPU", cells: 3, Help: "its GPU; 5:1 is MIG instance 1 of GPU 5"},
	columnPID:        {id: columnPID, title: "PID", cells: 7, Help: "process; a row is a process on a GPU"},
	columnUser:       {id: columnUser, title: "USER", cells: 8, left: true, Help: "its owner; ? is not known"},
	columnType:       {id: columnType, title: "TYP", cells: 3, left: true, Off: true, Help: "C compute, G graphics, M through MPS"},
	columnRuntime:    {id: columnRuntime, title: "RUNTIME", cells: 7, left: true, parts: true, Help: "library whose allocator a probe reports"},
	columnSM:         {id: columnSM, title: "SM%", cells: 4, Help: "of the GPU's multiprocessors it keeps busy"},
	columnUsed:       {id: columnUsed, title: "USED", cells: 5, amount: metric.Used, Help: "its memory on the GPU, by the driver"},
	columnBar:        {id: columnBar, Name: "BAR", cells: 16, grows: 40, left: true, Help: "its memory on the scale of the GPU"},
	columnAllocated:  {id: columnAllocated, title: "ALLOC", cells: 5, amount: metric.Allocated, parts: true, Help: "allocated: memory in live blocks"},
	columnFragmented: {id: columnFragmented, title: "FRAG", cells: 5, amount: metric.Fragmented, parts: true, Help: "fragmented: free, but no flush frees it"},
	columnCached:     {id: columnCached, title: "CACHE", cells: 5, amount: metric.Cached, parts: true, Help: "cached; (33G): no flush frees it"},
	columnOther:      {id: columnOther, title: "OTHER", cells: 5, amount: metric.Other, parts: true, Off: true, Help: "other: CUDA context, kernels, libraries"},
	columnFlush:      {id: columnFlush, title: "FLUSH", cells: 5, amount: metric.Returnable, parts: true, Off: true, Help: "what a flush (F) frees"},
	columnPredicted:  {id: columnPredicted, title: "+60s", cells: 5, Help: "forecast of USED in a minute (median)"},
	columnTrend:      {id: columnTrend, Name: "TREND", cells: 1, Help: "leak, growing, shrinking, up and down"},
	columnSpark:      {id: columnSpark, title: "LAST 10m", cells: 10, left: true, Help: "highest USED in each of ten minutes"},
	columnCPU:        {id: columnCPU, title: "CPU%", cells: 4, Help: "of one core"},
	columnHost:       {id: columnHost, title: "HOST", cells: 5, amount: metric.Host, Help: "its resident memory on the host"},
	columnTime:       {id: columnTime, title: "TIME", cells: 6, Help: "since its start"},
	columnJob:        {id: columnJob, title: "JOB", cells: 14, grows: 16, left: true, Help: "its slurm job, container or pod"},
	columnCommand:    {id: columnCommand, title: "COMMAND", left: true, Help: "without interpreter, flags, directories"},
}

// columnNamed returns the column with a title; USED for an unknown title.
func columnNamed(title string) columnID {
	if id, ok := columnOf(title); ok && allColumns[id].title != "" {
		return id
	}
	return columnUsed
}

// The cells that the COMMAND column keeps.
const (
	minCommand  = 12 // beside the first group of columnsAt
	goodCommand = 24 // beside the second group, at least
	longCommand = 80 // before other columns grow
)

// columnsAt returns the columns of a table of this width, added by importance while the command keeps its part. The
// first column that does not fit ends its group, so that a wider screen never has fewer columns.
func columnsAt(width int, b box) []Column {
	first := [...]columnID{
		columnCached, columnAllocated, columnFragmented, columnUser, columnPredicted, columnTrend,
	}
	second := [...]columnID{
		columnTime, columnRuntime, columnSM, columnOther, columnType, columnJob, columnFlush, columnHost, columnCPU, columnSpark, columnBar,
	}
	var has [columnCount]bool
	left := width - 1 - 1 // the mark, and the blank before the command
	for _, id := range alwaysThere {
		has[id] = true
		left -= b.cells(id) + 1
	}
	left++ // before the first column stands the mark, not a blank
	add := func(ids []columnID, keep int) {
		for _, id := range ids {
			c := allColumns[id]
			if !b.has(c) {
				continue
			}
			if left-b.cells(id)-1 < keep {
				return
			}
			has[id] = true
			left -= b.cells(id) + 1
		}
	}
	add(first[:], minCommand)
	switch {
	case b.chosen != nil:
		add(second[:], goodCommand)
	case has[columnTrend] || !b.ahead && has[columnUser]:
		add(second[:], max(goodCommand, (width*28+99)/100))
	}
	columns := make([]Column, 0, columnCount)
	for _, id := range b.order() {
		if has[id] {
			c := allColumns[id]
			c.cells = b.cells(id)
			if more := min(left-longCommand, c.grows); more > 0 {
				c.cells, left = c.cells+more, left-more
			}
			columns = append(columns, c)
		}
	}
	last := allColumns[columnCommand]
	last.cells = max(left, 0)
	return append(columns, last)
}

type box struct {
	parts   bool // a probe has been seen
	ahead   bool // there is a forecaster
	ascii   bool // no sparklines
	wideGPU bool // GPU 10 and above with MIG: "12:3" has 4 cells

	chosen []columnID // the user's columns in their order; nil: none were chosen
}

// CommandCells returns how wide the COMMAND column of a table of this width is.
func (t *Table) CommandCells(width int) int {
	columns := columnsAt(width, t.box())
	return columns[len(columns)-1].cells
}

func (t *Table) box() box {
	b := box{parts: t.Parts, ahead: t.Forecasts, ascii: t.Appearance.Glyphs.Spark == nil, chosen: chosen(t.Columns)}
	if t.Snapshot != nil {
		for i := range t.Snapshot.GPUs {
			gpu := &t.Snapshot.GPUs[i]
			b.wideGPU = b.wideGPU || gpu.Index >= 10 && len(gpu.Instances) > 0
		}
	}
	return b
}

func (b box) has(c Column) bool {
	switch {
	case b.chosen == nil && c.Off, b.chosen != nil && !slices.Contains(b.chosen, c.id):
		return false
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

// SortTitleAt returns the title at a cell of the title line, and whether the table can be sorted by it.
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
