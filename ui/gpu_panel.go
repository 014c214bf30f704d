package ui

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// gpuPanel is the lines of the GPUs: index, bar, figures, note. MIG instances
// stand under their GPU, and where all lines do not fit, those with an alarm
// are pinned on top and the rest scrolls.
type gpuPanel struct {
	look   *cell.Appearance
	state  *state
	shown  *snapshot.Snapshot
	now    time.Time
	lines  []gpuLine
	halves int // columns of lines
	header bool
}

// gpuLine is a GPU, or one of its instances.
type gpuLine struct {
	gpu      *snapshot.GPU
	instance *snapshot.Instance // nil: the GPU itself
	number   int                // of the instance, from 1
}

// newGPUPanel lists the lines that this layout has room for.
func newGPUPanel(st *state, lk *cell.Appearance, lay *layout) gpuPanel {
	p := gpuPanel{look: lk, state: st, shown: st.shown, now: st.moment(), halves: lay.gpuColumns, header: lay.gpuHeader}
	p.lines = make([]gpuLine, 0, len(p.shown.GPUs)+8)
	for i := range p.shown.GPUs {
		gpu := &p.shown.GPUs[i]
		p.lines = append(p.lines, gpuLine{gpu: gpu})
		if !lay.instances && !st.opens(gpu) {
			continue
		}
		for j := range gpu.Instances {
			p.lines = append(p.lines, gpuLine{gpu: gpu, instance: &gpu.Instances[j], number: j + 1})
		}
	}
	return p
}

// opens reports whether the GPU's instances are open because it is in focus.
func (st *state) opens(gpu *snapshot.GPU) bool {
	return st.Focus != nil && st.Focus.GPUUUID == gpu.UUID && len(gpu.Instances) > 0
}

// Render implements panel.
func (p gpuPanel) Render(width, height int) []string {
	out := make([]string, 0, height)
	l := cell.NewLine(width)
	half := width
	if p.halves == 2 {
		half = (width - 2) / 2
	}
	columns := p.columns(half)
	if p.header && height > 0 {
		p.writeHeader(l, columns, half)
		out = append(out, l.String())
	}
	rows := height - len(out)
	lines := p.visible(rows * p.halves)
	down := min((len(lines)+p.halves-1)/p.halves, rows)
	for row := range rows {
		l.Reset(width)
		for h := range p.halves {
			if i := row + h*down; row < down && i < len(lines) && (h == 0 || i >= down) {
				l.To(h * (half + 2))
				p.write(l, lines[i], columns, half)
			}
		}
		out = append(out, l.String())
	}
	return out
}

// visible is the lines that fit: all of them, or the alarmed ones followed by
// a window on the rest. Nothing stands there twice.
func (p *gpuPanel) visible(room int) []gpuLine {
	if len(p.lines) <= room || room <= 0 {
		return p.lines[:min(len(p.lines), max(room, 0))]
	}
	pinned, rest := make([]gpuLine, 0, room), make([]gpuLine, 0, len(p.lines))
	for _, line := range p.lines {
		if line.instance == nil && p.alarmed(line.gpu) {
			pinned = append(pinned, line)
		} else {
			rest = append(rest, line)
		}
	}
	if len(pinned) >= room {
		return pinned[:room]
	}
	left := room - len(pinned)
	top := min(max(p.state.gpuTop, 0), len(rest)-left)
	return append(pinned, rest[top:top+left]...)
}

// alarmed reports whether the GPU has something that must stay in sight.
func (p *gpuPanel) alarmed(gpu *snapshot.GPU) bool {
	if gpu.State != snapshot.GPUOK {
		return true
	}
	for i := range p.shown.Alerts {
		if a := &p.shown.Alerts[i]; a.GPUUUID == gpu.UUID && a.Severity == snapshot.Urgent {
			return true
		}
	}
	return false
}

// write writes one line into the next width cells of l.
func (p *gpuPanel) write(l *cell.Line, line gpuLine, c gpuColumns, width int) {
	s, g := &p.look.Styles, &p.look.Glyphs
	start := l.Used()
	p.writeIndex(l, line, c)
	used, total := line.memory().Used, line.memory().Total
	switch {
	case line.instance != nil:
		l.Left(s.Dim, text.Clean(line.instance.Profile), max(c.name, 7), g.Ellipsis)
		l.Skip(1)
		cells := c.name + c.nameGap() + c.bar - max(c.name, 7) - 1
		l.InstanceBar(p.look, line.gpu, line.instance, cells)
	case line.gpu.State != snapshot.GPUOK:
		p.writeName(l, line, c)
		l.BarWords(p.look, stateWords(line.gpu, p.now), c.bar)
		used = snapshot.Bytes{}
	case len(line.gpu.Instances) > 0:
		p.writeName(l, line, c)
		l.MIGBar(p.look, line.gpu, c.bar)
	case !line.gpu.Memory.Used.Known():
		p.writeName(l, line, c)
		l.BarWords(p.look, usedUnknownWords(), c.bar)
	default:
		p.writeName(l, line, c)
		l.Bar(p.look, cell.PartsOf(line.gpu.Parts, line.gpu.Memory.Used), line.gpu.Memory.Capacity().Or(0), c.bar)
	}
	l.Skip(1)
	p.writeUsed(l, used, total, c)
	note := p.note(line, c)
	if !c.halves || !note.alarm {
		p.writeFigures(l, line, c)
	}
	if c.note > 0 || note.alarm {
		p.writeNote(l, note, start+width-l.Used())
	}
}

func (line gpuLine) memory() *snapshot.Memory {
	if line.instance != nil {
		return &line.instance.Memory
	}
	return &line.gpu.Memory
}

func (line gpuLine) parts() *snapshot.Parts {
	if line.instance != nil {
		return &line.instance.Parts
	}
	return &line.gpu.Parts
}

// writeIndex writes "   3 ", " 5:1 ", and ">" before what is in focus.
func (p *gpuPanel) writeIndex(l *cell.Line, line gpuLine, c gpuColumns) {
	mark := ""
	if f := p.state.Focus; f != nil && f.GPUUUID == line.gpu.UUID {
		if line.instance == nil && !f.Instance.MIG || line.instance != nil && f.Instance == line.instance.ID {
			mark = ">"
		}
	}
	index := cell.AppendIndex(l.Scratch(), line.gpu.Index, line.number)
	l.Put(p.look.Styles.Strong, mark)
	l.RightFigure(p.look.Styles.Text, index, c.index-len(mark))
	l.Skip(1)
}

func (p *gpuPanel) writeName(l *cell.Line, line gpuLine, c gpuColumns) {
	if c.name > 0 {
		l.Left(p.look.Styles.Dim, tinyName(line.gpu.Name), c.name, "")
		l.Skip(1)
	}
}

func (p *gpuPanel) writeUsed(l *cell.Line, used, total snapshot.Bytes, c gpuColumns) {
	g := &p.look.Glyphs
	style := p.known(used.Known())
	switch {
	case c.percent:
		l.RightFigure(style, cell.AppendPercent(l.Scratch(), share(used, total), g.Dash), c.used)
	case c.used >= 10:
		l.RightFigure(style, cell.AppendUsedTotal(l.Scratch(), used, total, g.Dash), c.used)
	default:
		l.RightFigure(style, cell.AppendBytes(l.Scratch(), used, g.Dash), c.used)
	}
}

// share is used as per cent of total.
func share(used, total snapshot.Bytes) snapshot.Int {
	u, ok := used.Value()
	t := total.Or(0)
	if !ok || t <= 0 {
		return snapshot.Int{}
	}
	return quantity.From(int(float64(u)*100/float64(t)+0.5), quantity.Computed)
}

// known is the style of a figure: what is not known is dim.
func (p *gpuPanel) known(known bool) themes.Style {
	if known {
		return p.look.Styles.Text
	}
	return p.look.Styles.Dim
}

// writeFigures writes what the driver measures. Of an instance it measures
// little, of a lost GPU nothing.
func (p *gpuPanel) writeFigures(l *cell.Line, line gpuLine, c gpuColumns) {
	s, g := &p.look.Styles, &p.look.Glyphs
	var r snapshot.GPU // nothing known
	if line.instance == nil && line.gpu.State == snapshot.GPUOK {
		r = *line.gpu
	}
	figure := func(cells int, style themes.Style, text []byte) {
		if cells > 0 {
			l.Skip(1)
			l.RightFigure(style, text, cells)
		}
	}
	if c.free > 0 {
		free := line.free()
		figure(c.free, p.known(free.Known()), cell.AppendBytes(l.Scratch(), free, g.Dash))
	}
	if c.flush > 0 {
		flush := line.flush()
		figure(c.flush, p.known(flush.Known()), cell.AppendBytes(l.Scratch(), flush, g.Dash))
	}
	figure(c.util, p.known(r.Utilization.Known()), cell.AppendPercent(l.Scratch(), r.Utilization, g.Dash))
	figure(c.mem, p.known(r.MemoryUtilization.Known()), cell.AppendPercent(l.Scratch(), r.MemoryUtilization, g.Dash))
	if c.temp > 0 {
		style := p.known(r.Temperature.Known())
		if slow, ok := r.TemperatureSlowdown.Value(); ok && r.Temperature.Or(0) >= slow-5 {
			style = s.Warning
		}
		figure(c.temp, style, cell.AppendTemperature(l.Scratch(), r.Temperature, g.Dash))
	}
	if c.power > 0 {
		style := p.known(r.Power.Known())
		if limit, ok := r.PowerLimit.Value(); ok && limit > 0 && r.Power.Or(0) >= limit {
			style = s.Warning
		}
		text := l.Scratch()
		if c.power > 4 {
			text = cell.AppendPower(text, r.Power, r.PowerLimit, g.Dash)
		} else {
			text = cell.AppendWatts(text, r.Power, g.Dash)
		}
		figure(c.power, style, text)
	}
	if c.clock > 0 {
		figure(c.clock, p.known(r.SMClock.Known()), cell.AppendClock(l.Scratch(), r.SMClock, g.Dash))
	}
	if c.ecc > 0 {
		p.writeECC(l, &r, figure, c.ecc)
	}
	if c.processes > 0 {
		count := line.gpu.ProcessCount
		if line.instance != nil {
			count = line.instance.ProcessCount
		}
		figure(c.processes, p.known(count.Known()), cell.AppendCount(l.Scratch(), count, g.Dash))
	}
}

// writeECC writes the uncorrectable errors; without ECC there is nothing to
// count.
func (p *gpuPanel) writeECC(l *cell.Line, r *snapshot.GPU, figure func(int, themes.Style, []byte), cells int) {
	var count snapshot.Int
	if n, ok := r.ECC.Uncorrected.Value(); ok {
		count = quantity.From(int(min(n, 999)), quantity.Driver)
	}
	style := p.known(count.Known())
	if count.Or(0) > 0 {
		style = p.look.Styles.Leak
	}
	figure(cells, style, cell.AppendCount(l.Scratch(), count, p.look.Glyphs.Dash))
}

// free is what a process could still have. On a GPU cut into instances that
// is nothing: its instances have it.
func (line gpuLine) free() snapshot.Bytes {
	if line.instance == nil && (len(line.gpu.Instances) > 0 || line.gpu.State != snapshot.GPUOK) {
		return snapshot.Bytes{}
	}
	return line.memory().Free
}

// flush is what flushing every process there would return.
func (line gpuLine) flush() snapshot.Bytes {
	if line.instance == nil && line.gpu.State != snapshot.GPUOK {
		return snapshot.Bytes{}
	}
	return line.parts().Returnable
}
