package segments

import (
	"slices"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// A band is drawn as cells of equal size, segment by segment, each in the order of its blocks. A cell over several
// blocks shows the state of which most is not shown yet, and carries the rest over (error diffusion). So the cells of a
// state are about in proportion to its memory. If segments have apartFrom cells on average, gaps separate them.

// mapCell is a snapshot.BlockState, or the gap between two segments.
type mapCell uint8

const cellGap mapCell = 255

const apartFrom = 4

func (b *band) apart(unit quantity.Bytes) bool {
	return int64(b.sums.total()/unit) >= apartFrom*int64(len(b.segments))
}

// cells draws a band in rows of strip cells. With gaps, a segment that fits into one row is not broken.
func (b *band) cells(unit quantity.Bytes, strip int) []mapCell {
	if !b.apart(unit) {
		var d drawing
		for _, s := range b.segments {
			d.blocks(s.Blocks, unit)
		}
		return d.end(unit)
	}
	var out []mapCell
	for _, s := range b.segments {
		var d drawing
		d.blocks(s.Blocks, unit)
		drawn := showHolder(d.end(unit), s, unit)
		for range apartBy(len(out), len(drawn), strip) {
			out = append(out, cellGap)
		}
		out = append(out, drawn...)
	}
	return out
}

// apartBy returns the number of gaps before a segment, up to the next row if the segment must begin there.
func apartBy(at, cells, strip int) int {
	column := at % strip
	switch {
	case column == 0:
		return 0
	case column+1+cells > strip && cells <= strip:
		return strip - column
	default:
		return 1
	}
}

func (b *band) count(unit quantity.Bytes, strip int) int {
	if !b.apart(unit) {
		return cellsFor(b.sums.total(), unit)
	}
	n := 0
	for _, s := range b.segments {
		own := cellsFor(s.sums.total(), unit)
		n += apartBy(n, own, strip) + own
	}
	return n
}

// cellsFor returns the number of cells of an amount, rounded, at least one for an amount above 0.
func cellsFor(size, unit quantity.Bytes) int {
	n := int(size / unit)
	if size%unit*2 >= unit || n == 0 && size > 0 {
		n++
	}
	return n
}

type drawing struct {
	cells  []mapCell
	filled quantity.Bytes    // how much of the present cell is filled
	owed   [4]quantity.Bytes // by state: memory that no cell has shown yet
	seen   [4]quantity.Bytes // by state: memory in the present cell
}

func (d *drawing) blocks(blocks []snapshot.Block, unit quantity.Bytes) {
	for _, b := range blocks {
		for left := b.Size; left > 0; {
			part := min(left, unit-d.filled)
			d.owed[b.State] += part
			d.seen[b.State] += part
			d.filled += part
			left -= part
			if d.filled == unit {
				d.put(unit)
			}
		}
	}
}

// put ends a cell. Of the states in it the cell shows the one with the most memory not yet shown.
func (d *drawing) put(unit quantity.Bytes) {
	largest := -1
	for state := range d.owed {
		if d.seen[state] > 0 && (largest < 0 || d.owed[state] > d.owed[largest]) {
			largest = state
		}
	}
	d.owed[largest] -= unit
	d.cells = append(d.cells, mapCell(largest))
	d.filled, d.seen = 0, [4]quantity.Bytes{}
}

// end draws the last cell if half of it is filled, and at least one cell.
func (d *drawing) end(unit quantity.Bytes) []mapCell {
	if d.filled*2 >= unit || len(d.cells) == 0 && d.filled > 0 {
		d.put(unit)
	}
	return d.cells
}

// showHolder shows a live or pending block of a fragmented segment of several cells even if rounding left it out.
func showHolder(cells []mapCell, s *segment, unit quantity.Bytes) []mapCell {
	holds := func(c mapCell) bool { return c == mapCell(snapshot.BlockLive) || c == mapCell(snapshot.BlockPending) }
	if s.fate != fateFragmented || len(cells) < 2 || slices.ContainsFunc(cells, holds) {
		return cells
	}
	var at quantity.Bytes
	for _, b := range s.Blocks {
		if holds(mapCell(b.State)) {
			cells[min(int(at/unit), len(cells)-1)] = mapCell(b.State)
			break
		}
		at += b.Size
	}
	return cells
}

func rowsOf(bands []band, unit quantity.Bytes, strip int) int {
	rows := 0
	for i := range bands {
		rows += (bands[i].count(unit, strip) + strip - 1) / strip
	}
	return rows
}

// unitFor returns the smallest round size of a cell at which bands fit.
func unitFor(bands []band, strip, rows int) quantity.Bytes {
	unit := minUnit
	for step := 0; unit < maxUnit && rowsOf(bands, unit, strip) > rows; step++ {
		if step%2 == 0 {
			unit += unit / 2 // 1, 1.5, 2, 3, 4, 6, 8 …
		} else {
			unit += unit / 3
		}
	}
	return unit
}

// The minimum and the maximum size of a cell.
const (
	minUnit = 256 * quantity.KiB
	maxUnit = 1 << 50
)
