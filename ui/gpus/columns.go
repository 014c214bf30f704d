package gpus

import (
	"slices"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// columns has the cells of each figure, without the blank before it; 0 leaves the figure out.
type columns struct {
	index, name, bar, used, free, flush, util, mem, temp, power, clock, ecc, processes, note int

	percent bool // used memory is in per cent of the GPU's memory
	halves  bool // two lines side by side: an alarm takes the place of util and temp
}

// LegendWidth is the minimum width for a header, which includes the legend of the bars. A screen of less than fullWidth
// is a small pane.
const (
	LegendWidth = 100
	fullWidth   = 80
)

// Bar and note grow with the screen between these sizes: of five cells more, the note gets one. On a screen of more
// than 200 cells the bar may take two fifths of the screen.
const (
	maxBar           = 80
	minNote, maxNote = 24, 43 // with its mark and a blank around it
	alarmNote        = 12     // room for an alarm in its shortest form, and for nothing else
)

// columnsFor divides the width among the columns. A wider screen never has fewer figures.
func (p *Panel) columnsFor(width int) columns {
	mixed := p.mixed()
	if p.Halves == 2 {
		return halfColumns(width, mixed)
	}
	c := columns{index: 4, used: 10, free: 5, util: 4, temp: 4, note: minNote}
	if p.big() {
		c.used = 12
	}
	if mixed {
		c.name = 8
	}
	switch {
	case width >= 160:
		c.mem, c.clock, c.ecc, c.processes = 4, 6, 3, 2
		fallthrough
	case width >= LegendWidth:
		c.power = 8
		if p.Parts {
			c.flush = 5
		}
	case width < fullWidth:
		c.narrow(width)
		return c
	}
	const leastBar = 24 // at 80 columns
	extra := width - c.around() - leastBar - minNote
	if extra <= 0 {
		c.bar = leastBar + extra
		return c
	}
	c.bar = min(leastBar+extra*4/5, max(maxBar, width*2/5))
	c.note = width - c.around() - c.bar
	return c
}

// around returns the number of cells outside of bar and note.
func (c *columns) around() int {
	cells := c.index + 1 + c.name + min(c.name, 1) + 1 + c.used
	for _, figure := range c.figures() {
		if figure > 0 {
			cells += 1 + figure
		}
	}
	return cells
}

// narrow fits the columns to a pane. The narrower it is, the more it lacks: name and free, then the total, the
// temperature, a part of the note, and last utilization.
func (c *columns) narrow(width int) {
	c.index, c.name, c.free = 3, 0, 0
	if width < 74 {
		c.used = 5
	}
	if width < 66 {
		c.temp = 0
	}
	if width < 54 { // utilization and a name in the note do not both fit
		c.util = 0
	}
	if width < 60 {
		c.note = max(alarmNote, width-c.around()-21)
	}
	c.bar = width - c.around() - c.note
}

// halfColumns returns the columns for two lines side by side, each of width cells.
func halfColumns(width int, percent bool) columns {
	c := columns{index: 3, used: 5, util: 4, temp: 3, halves: true, percent: percent}
	if width >= (LegendWidth-2)/2 {
		c.temp = len("TEMP") // there is a header
	}
	if width >= 64 {
		c.note = minNote
	}
	c.bar = width - c.around() - c.note
	return c
}

// big reports whether used/total needs 12 cells on any GPU of the box.
func (p *Panel) big() bool {
	const threshold = 100*quantity.GiB - quantity.GiB/20
	return slices.ContainsFunc(p.Snapshot.GPUs, func(g snapshot.GPU) bool { return g.Memory.Total.Or(0) >= threshold })
}

// mixed reports whether there are GPUs of several kinds. A GPU of unknown name does not count.
func (p *Panel) mixed() bool {
	names := map[string]bool{}
	for i := range p.Snapshot.GPUs {
		names[p.Snapshot.GPUs[i].Name] = true
	}
	delete(names, "")
	return len(names) > 1
}

// Columns returns the titles of a GPU's figures, each with its meaning.
func Columns() [][2]string {
	return [][2]string{
		{"USED/TOTAL", "used memory, and all of it"},
		{"FREE", "memory that a process can allocate"},
		{"FLUSH", "what flushes of its processes free"},
		{"UTIL", "time in which a kernel ran"},
		{"MEM", "time in which memory was read or written"},
		{"TEMP", "in degrees Celsius"},
		{"POWER", "drawn now, and the limit in force"},
		{"CLOCK", "of the multiprocessors, in MHz"},
		{"ECC", "uncorrectable memory errors"},
		{"PR", "processes on it"},
		{"NOTE", "its worst condition, else who uses it"},
	}
}

// figures returns the cells of the figures between the used memory and the note.
func (c *columns) figures() [9]int {
	return [...]int{c.free, c.flush, c.util, c.mem, c.temp, c.power, c.clock, c.ecc, c.processes}
}

func (p *Panel) writeTitles(l *cell.Line, c columns, legend bool) {
	s := &p.Appearance.Styles
	l.Right(s.Header, "GPU", c.index)
	l.Skip(1)
	bar := l.Used() + c.name + min(c.name, 1) + c.bar
	if legend {
		p.WriteLegend(l, bar-l.Used())
	}
	l.To(bar + 1)
	used := "USED/TOTAL"
	if c.used < len(used) {
		used = "USED"
	}
	l.Right(s.Header, used, c.used)
	for i, cells := range c.figures() { // Columns begins with USED/TOTAL
		if cells > 0 {
			l.Skip(1)
			l.Right(s.Header, text.Cut(Columns()[i+1][0], cells, ""), cells)
		}
	}
	if c.note > 0 {
		l.Skip(3)
		l.Put(s.Header, "NOTE")
	}
}

// WriteLegend names as many parts of the bars as fit. If colours distinguish the parts, free memory needs no name.
func WriteLegend(l *cell.Line, lk *cell.Appearance, cells int) {
	swatches := lk.Swatches()
	for _, form := range [...]struct {
		gap, before string
		names       []string
	}{
		{"  ", " ", []string{"other", "unknown", "alloc", "frag", "cached", "free"}},
		{" ", "", []string{"other", "unknown", "alloc", "frag", "cached", "free"}},
		{" ", "", []string{"other", "", "alloc", "frag", "cached", ""}},
		{" ", "", []string{"", "", "alloc", "frag", "cached", ""}},
	} {
		if lk.Solid() {
			form.names[5] = ""
		}
		need := 0
		for _, name := range form.names {
			if name != "" {
				need += len(form.gap) + 1 + len(form.before) + len(name)
			}
		}
		if need-len(form.gap) > cells {
			continue
		}
		gap := ""
		for i, name := range form.names {
			if name != "" {
				l.Put(lk.Styles.Header, gap)
				l.Put(swatches[i].Style, swatches[i].Text)
				l.Put(lk.Styles.Header, form.before+name)
				gap = form.gap
			}
		}
		return
	}
}
