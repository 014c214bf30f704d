package gpus

import (
	"slices"
	"time"

	"vramscope/headroom"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// Panel draws the lines of the GPUs: index, bar, figures, note. MIG instances are below their GPU. If not all lines
// fit, GPUs with an urgent alert or without an answer stay on top, and the other lines scroll.
type Panel struct {
	Appearance *cell.Appearance
	Snapshot   *snapshot.Snapshot
	Now        time.Time
	Focus      snapshot.Place // zero: no GPU is in focus
	Instances  bool           // all MIG instances have lines, not only those of the GPU in focus
	Parts      bool           // a probe has been seen; else bars are divided by owner
	IdleAfter  time.Duration  // a GPU that holds memory and has done nothing for longer is idle
	Halves     int            // 1, or 2 for two lines side by side
	Header     bool
	Top        int    // the first line in view, among those that scroll
	Lines      []Line // as List returns them

	Fit     *headroom.Report // whether a job of some size fits; nil: not asked
	Holders *Holders         // found for earlier frames
	owners  owners           // set by Render where Parts is false
}

func (p *Panel) List() []Line {
	lines := make([]Line, 0, len(p.Snapshot.GPUs)+8)
	for i := range p.Snapshot.GPUs {
		gpu := &p.Snapshot.GPUs[i]
		lines = append(lines, Line{GPU: gpu})
		if !p.Instances && p.Focus.GPUUUID != gpu.UUID {
			continue
		}
		for j := range gpu.Instances {
			lines = append(lines, Line{GPU: gpu, Instance: &gpu.Instances[j], number: j + 1})
		}
	}
	return lines
}

// Render returns exactly height lines of exactly width cells.
func (p Panel) Render(width, height int) []string {
	out := make([]string, 0, height)
	l := cell.NewLine(width)
	half := width
	if p.Halves == 2 {
		half = (width - 2) / 2
	}
	columns := p.columnsFor(half)
	if !p.Parts {
		p.owners = p.findOwners()
	}
	if p.Header && height > 0 {
		for h := range p.Halves {
			l.To(h * (half + 2))
			p.writeTitles(l, columns, h == 0)
		}
		out = append(out, l.String())
	}
	rows := height - len(out)
	lines := p.Visible(rows * p.Halves)
	down := min((len(lines)+p.Halves-1)/p.Halves, rows)
	for row := range rows {
		l.Reset(width)
		for h := range p.Halves {
			if i := row + h*down; row < down && i < len(lines) && (h == 0 || i >= down) {
				l.To(h * (half + 2))
				p.write(l, lines[i], columns, half)
			}
		}
		out = append(out, l.String())
	}
	return out
}

// Visible returns the lines in view: all, or the urgent ones and a part of the others.
func (p *Panel) Visible(room int) []Line {
	if len(p.Lines) <= room || room <= 0 {
		return p.Lines[:min(len(p.Lines), max(room, 0))]
	}
	pinned, rest := make([]Line, 0, room), make([]Line, 0, len(p.Lines))
	for _, line := range p.Lines {
		if line.Instance == nil && p.alarmed(line.GPU) {
			pinned = append(pinned, line)
		} else {
			rest = append(rest, line)
		}
	}
	if len(pinned) >= room {
		return pinned[:room]
	}
	left := room - len(pinned)
	top := min(max(p.Top, 0), len(rest)-left)
	return append(pinned, rest[top:top+left]...)
}

func (p *Panel) alarmed(gpu *snapshot.GPU) bool {
	if gpu.State != snapshot.GPUOK {
		return true
	}
	return slices.ContainsFunc(p.Snapshot.Alerts, func(a snapshot.Alert) bool {
		return a.GPUUUID == gpu.UUID && a.Severity == snapshot.Urgent
	})
}

// write writes one line into the next width cells of l.
func (p *Panel) write(l *cell.Line, line Line, c columns, width int) {
	s, g := &p.Appearance.Styles, &p.Appearance.Glyphs
	start := l.Used()
	p.writeIndex(l, line, c)
	if line.Instance == nil && c.name > 0 {
		l.Left(s.Dim, tinyName(line.GPU.Name), c.name, "")
		l.Skip(1)
	}
	used, total := line.memory().Used, line.memory().Total
	switch {
	case line.Instance != nil:
		l.Left(s.Dim, text.Clean(line.Instance.Profile), max(c.name, 7), g.Ellipsis)
		l.Skip(1)
		cells := c.name + min(c.name, 1) + c.bar - max(c.name, 7) - 1
		parts, more := p.content(line)
		l.InstanceBar(p.Appearance, line.GPU, line.Instance, cells, parts, more...)
	case line.GPU.State != snapshot.GPUOK:
		l.BarWords(p.Appearance, stateWords(line.GPU, p.Now), c.bar)
		used = snapshot.Bytes{}
	case len(line.GPU.Instances) > 0:
		l.MIGBar(p.Appearance, line.GPU, c.bar, func(in *snapshot.Instance) (cell.Parts, []cell.Piece) {
			return p.content(Line{GPU: line.GPU, Instance: in})
		})
	case !line.GPU.Memory.Used.Known():
		l.BarWords(p.Appearance, []string{"usage unknown", "unknown"}, c.bar)
	default:
		parts, more := p.content(line)
		l.MemoryBar(p.Appearance, &line.GPU.Memory, parts, c.bar, more...)
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

// writeIndex writes " 3 ", " 5:1 ", and ">" before the GPU or instance in focus.
func (p *Panel) writeIndex(l *cell.Line, line Line, c columns) {
	mark := ""
	if p.Focus == line.Place() {
		mark = ">"
	}
	index := cell.AppendIndex(l.Scratch(), line.GPU.Index, line.number)
	l.Put(p.Appearance.Styles.Strong, mark)
	l.RightFigure(p.Appearance.Styles.Text, index, c.index-len(mark))
	l.Skip(1)
}

// From these percentages on, used memory is coloured, unless the bar shows its parts.
const nearlyFull, almostFull = 90, 95

func (p *Panel) writeUsed(l *cell.Line, used, total snapshot.Bytes, c columns) {
	g := &p.Appearance.Glyphs
	style := p.Appearance.Known(used.Known())
	if percent := share(used, total).Or(0); !p.Parts && percent >= nearlyFull {
		style = p.Appearance.Styles.Warning
		if percent >= almostFull {
			style = p.Appearance.Styles.Leak
		}
	}
	switch {
	case c.percent:
		l.RightFigure(style, cell.AppendPercent(l.Scratch(), share(used, total), g.Dash), c.used)
	case c.used >= 10:
		l.RightFigure(style, cell.AppendUsedTotal(l.Scratch(), used, total, g.Dash), c.used)
	default:
		l.RightFigure(style, cell.AppendBytes(l.Scratch(), used, g.Dash), c.used)
	}
}

func share(used, total snapshot.Bytes) snapshot.Int {
	u, ok := used.Value()
	t := total.Or(0)
	if !ok || t <= 0 {
		return snapshot.Int{}
	}
	return quantity.From(int(float64(u)*100/float64(t)+0.5), quantity.Computed)
}

// writeFigures writes the figures between the used memory and the note.
func (p *Panel) writeFigures(l *cell.Line, line Line, c columns) {
	s, g := &p.Appearance.Styles, &p.Appearance.Glyphs
	var r snapshot.GPU // all unknown: for an instance, and for a GPU that does not answer
	if line.Instance == nil && line.GPU.State == snapshot.GPUOK {
		r = *line.GPU
	}
	free, flush := line.free(), line.flush()
	l.Figure(p.Appearance.Known(free.Known()), cell.AppendBytes(l.Scratch(), free, g.Dash), c.free)
	l.Figure(p.Appearance.Known(flush.Known()), cell.AppendBytes(l.Scratch(), flush, g.Dash), c.flush)
	l.Figure(p.Appearance.Known(r.Utilization.Known()), cell.AppendPercent(l.Scratch(), r.Utilization, g.Dash), c.util)
	l.Figure(p.Appearance.Known(r.MemoryUtilization.Known()), cell.AppendPercent(l.Scratch(), r.MemoryUtilization, g.Dash), c.mem)
	style := p.Appearance.Known(r.Temperature.Known())
	if slow, ok := r.TemperatureSlowdown.Value(); ok && r.Temperature.Or(0) >= slow-5 {
		style = s.Warning
	}
	l.Figure(style, cell.AppendTemperature(l.Scratch(), r.Temperature, g.Dash), c.temp)
	style = p.Appearance.Known(r.Power.Known())
	if limit, ok := r.PowerLimit.Value(); ok && limit > 0 && r.Power.Or(0) >= limit {
		style = s.Warning
	}
	l.Figure(style, cell.AppendPower(l.Scratch(), r.Power, r.PowerLimit, g.Dash), c.power)
	l.Figure(p.Appearance.Known(r.SMClock.Known()), cell.AppendWithin(l.Scratch(), r.SMClock, 0, 99999, "M", g.Dash), c.clock)
	var errors snapshot.Int
	if n, ok := r.ECC.Uncorrected.Value(); ok {
		errors = quantity.From(int(min(n, 999)), quantity.Driver)
	}
	style = p.Appearance.Known(errors.Known())
	if errors.Or(0) > 0 {
		style = s.Leak
	}
	l.Figure(style, cell.AppendWithin(l.Scratch(), errors, 0, 999, "", g.Dash), c.ecc)
	count := line.GPU.ProcessCount
	if line.Instance != nil {
		count = line.Instance.ProcessCount
	}
	l.Figure(p.Appearance.Known(count.Known()), cell.AppendWithin(l.Scratch(), count, 0, 999, "", g.Dash), c.processes)
}
