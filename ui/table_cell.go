package ui

import (
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
)

// writeCell writes one column of a row into its cells.
func (t *tablePanel) writeCell(l *line, c *column, r *row) {
	s, g, p := &t.look.styles, &t.look.glyphs, r.process
	figure := l.scratch[:0]
	switch c.id {
	case columnGPU:
		l.rightFigure(s.Text, appendIndex(figure, p.GPU, t.instanceOf(p)), c.cells)
	case columnPID:
		l.rightFigure(s.Text, appendInt(figure, p.ID.Process.PID), c.cells)
	case columnUser:
		style := s.Text
		if p.User == "" {
			style = s.Dim
		}
		l.left(style, userName(p), c.cells, g.ellipsis)
	case columnType:
		t.writeText(l, p.Type, c.cells)
	case columnRuntime:
		t.writeText(l, p.Runtime, c.cells)
	case columnJob:
		t.writeJob(l, p, c.cells)
	case columnSM:
		l.rightFigure(t.known(p.SMUtilization.Known()), appendPercent(figure, p.SMUtilization, g.dash), c.cells)
	case columnCPU:
		cpu := snapshot.Int{}
		if v, ok := p.CPU.Value(); ok {
			cpu = quantity.From(int(min(max(v, 0), 99999)+0.5), quantity.System)
		}
		l.rightFigure(t.known(cpu.Known()), appendPercentOf(figure, cpu, g.dash), c.cells)
	case columnBar:
		t.writeBar(l, p, c.cells)
	case columnPredicted:
		t.writePrediction(l, p, c.cells)
	case columnTrend:
		text, style := t.trend(p)
		l.put(style, text)
	case columnSpark:
		t.writeSpark(l, p, c.cells)
	case columnTime:
		if p.Started.IsZero() {
			l.right(s.Dim, g.dash, c.cells)
			return
		}
		l.rightFigure(s.Text, appendDuration(figure, moment(t.now).since(p.Started)), c.cells)
	case columnCommand:
		t.writeCommand(l, r, c.cells)
	default:
		t.writeAmount(l, c, p)
	}
}

func (t *tablePanel) known(known bool) themes.Style {
	if known {
		return t.look.styles.Text
	}
	return t.look.styles.Dim
}

func (t *tablePanel) writeText(l *line, text string, cells int) {
	if text == "" {
		l.left(t.look.styles.Dim, t.look.glyphs.dash, cells, "")
		return
	}
	l.left(t.look.styles.Text, clean(text), cells, t.look.glyphs.ellipsis)
}

// writeJob writes kind and number apart, to spare a string for each row.
func (t *tablePanel) writeJob(l *line, p *snapshot.Process, cells int) {
	if p.Job.Kind == "" {
		t.writeText(l, "", cells)
		return
	}
	start := l.used
	l.put(t.look.styles.Text, cut(clean(p.Job.Kind), cells, t.look.glyphs.ellipsis))
	l.put(t.look.styles.Text, cut(" ", start+cells-l.used, ""))
	l.left(t.look.styles.Text, clean(limited(p.Job.ID)), start+cells-l.used, t.look.glyphs.ellipsis)
}

// instanceOf is which of its GPU's instances the process is on, from 1; 0 is
// none.
func (t *tablePanel) instanceOf(p *snapshot.Process) int {
	if gpu := gpuOf(t.shown, p.ID.GPUUUID); gpu != nil && p.ID.Instance.MIG {
		return instanceNumber(gpu, p.ID.Instance)
	}
	return 0
}

// writeAmount writes an amount of memory. What a stale probe said is dim, and
// cached memory that no flush returns stands in brackets.
func (t *tablePanel) writeAmount(l *line, c *column, p *snapshot.Process) {
	s, g := &t.look.styles, &t.look.glyphs
	amount := amountOf(p, c.id)
	if c.parts && p.Probe != nil && p.Probe.State == snapshot.ProbeSilent {
		amount = snapshot.Bytes{}
	}
	v, ok := amount.Value()
	style := t.known(ok)
	if c.parts && p.Probe != nil && p.Probe.State == snapshot.ProbeStale {
		style = s.Dim
	}
	if c.id == columnOther && v < 0 {
		style = s.Warning
	}
	if c.id == columnCached && v > 0 && p.Returnable.Known() && p.Returnable.Or(0) == 0 {
		l.rightFigure(style, appendKept(l.scratch[:0], v), c.cells)
		return
	}
	l.rightFigure(style, appendBytes(l.scratch[:0], amount, g.dash), c.cells)
}

// writeBar writes the process on the scale of its GPU. What is not known has
// no bar: an empty one would mean free.
func (t *tablePanel) writeBar(l *line, p *snapshot.Process, cells int) {
	gpu := gpuOf(t.shown, p.ID.GPUUUID)
	if gpu == nil || !p.Used.Known() || gpu.Memory.Capacity().Or(0) <= 0 {
		l.skip(cells)
		return
	}
	l.bar(t.look, processParts(p), gpu.Memory.Capacity().Or(0), cells)
}

// writePrediction writes the median forecast: dim while it says that nothing
// happens, "full" where it is more than the GPU has.
func (t *tablePanel) writePrediction(l *line, p *snapshot.Process, cells int) {
	s, g := &t.look.styles, &t.look.glyphs
	median, ok := predictedIn(p, predictionShown)
	if !ok {
		l.right(s.Dim, g.dash, cells)
		return
	}
	if room, known := t.capacityFor(p); known && median >= room {
		l.right(s.Leak, "full", cells)
		return
	}
	style := s.Text
	if used, known := p.Used.Value(); known && abs(median-used) <= used/100 {
		style = s.Dim
	}
	l.rightFigure(style, median.Append(l.scratch[:0]), cells)
}

// capacityFor is the most that the process could ever use.
func (t *tablePanel) capacityFor(p *snapshot.Process) (quantity.Bytes, bool) {
	gpu := gpuOf(t.shown, p.ID.GPUUUID)
	if gpu == nil {
		return 0, false
	}
	if p.ID.Instance.MIG {
		if instance := instanceOf(gpu, p.ID.Instance); instance != nil {
			return instance.Memory.Capacity().Value()
		}
	}
	return gpu.Memory.Capacity().Value()
}

func abs(v quantity.Bytes) quantity.Bytes {
	if v < 0 {
		return -v
	}
	return v
}

// trend is one cell; steady is blank.
func (t *tablePanel) trend(p *snapshot.Process) (string, themes.Style) {
	s, g := &t.look.styles, &t.look.glyphs
	switch p.Trend {
	case snapshot.TrendYoung:
		return ".", s.Dim
	case snapshot.TrendGrowing:
		return g.up, s.Text
	case snapshot.TrendShrinking:
		return g.down, s.Text
	case snapshot.TrendSawtooth:
		return g.sawtooth, s.Text
	case snapshot.TrendLeak:
		return g.leak, s.Leak
	default:
		return " ", s.Text
	}
}

// sparkWindow is what the column LAST 10m shows.
const sparkWindow = 10 * time.Minute

// writeSpark draws used memory over the last ten minutes from its lowest to
// its highest, each cell the highest of its minute: a spike must not vanish.
// What moved by less than a tenth is drawn on a scale of a tenth, so that
// noise stays flat: a line at the bottom, which draws no eye.
func (t *tablePanel) writeSpark(l *line, p *snapshot.Process, cells int) {
	g := &t.look.glyphs
	if t.state.history == nil || len(g.spark) == 0 {
		l.skip(cells)
		return
	}
	key := snapshot.SeriesKey{Metric: snapshot.MetricUsed, GPUUUID: p.ID.GPUUUID, Instance: p.ID.Instance, Row: p.ID}
	points := t.state.history.Series(key, t.now.Add(-sparkWindow), t.now, cells)
	var low, high int64
	found := false
	for _, point := range points {
		if !point.Known {
			continue
		}
		if !found || point.Max < low {
			low = point.Max
		}
		if !found || point.Max > high {
			high = point.Max
		}
		found = true
	}
	span := max(high-low, high/10, 1)
	for i := range cells {
		if i >= len(points) || !points[i].Known {
			l.skip(1)
			continue
		}
		level := int(float64(points[i].Max-low) / float64(span) * float64(len(g.spark)))
		l.put(t.look.styles.Dim, g.spark[min(max(level, 0), len(g.spark)-1)])
	}
}

// appendPercentOf writes per cent that may go past 999: of one core.
func appendPercentOf(dst []byte, value snapshot.Int, dash string) []byte {
	v, ok := value.Value()
	if !ok {
		return append(dst, dash...)
	}
	if v = max(v, 0); v > 999 {
		return append(appendInt(dst, min(v/100, 999)), 'x') // 1600 % of one core is 16 cores
	}
	return append(appendInt(dst, v), '%')
}

// writeCommand writes the last column: the command, moved by ← →, with what
// has to be said of the row before it or instead of it.
func (t *tablePanel) writeCommand(l *line, r *row, cells int) {
	s, g, p := &t.look.styles, &t.look.glyphs, r.process
	style := s.Text
	if p.ID.Process.Foreign() {
		style = s.Dim
	}
	if p.Probe != nil && p.Probe.Mismatch {
		if other, ok := p.Other.Value(); ok && other < 0 {
			l.left(s.Warning, "parts exceed used by "+(-other).String(), cells, g.ellipsis)
			return
		}
	}
	start := l.used
	switch r.bracket {
	case bracketFirst:
		l.put(s.Rule, g.corners[0]+g.rule)
	case bracketMiddle:
		l.put(s.Rule, g.side+" ")
	case bracketLast:
		l.put(s.Rule, g.corners[2]+g.rule)
	case bracketUnder:
		l.skip(2)
	}
	if r.depth > 0 {
		depth := min(r.depth-1, cells/4)
		l.skip(2 * depth)
		l.put(s.Rule, g.corners[2]+g.rule)
	}
	if p.Probe != nil && p.Probe.State == snapshot.ProbeStale {
		l.put(s.Warning, "stale "+duration(p.Probe.Age))
		l.put(s.Dim, " | ")
	}
	text := t.look.shortCommand(p)
	if t.state.scrollX > 0 && text != "" {
		text = g.ellipsis + scrolled(text, t.state.scrollX+1)
	}
	l.left(style, text, start+cells-l.used, g.ellipsis)
}

// scrolled is text without its first cells. A wide rune that is cut in two
// leaves a blank.
func scrolled(text string, cells int) string {
	at := 0
	for i, r := range text {
		if at >= cells {
			return strings.Repeat(" ", at-cells) + text[i:]
		}
		at += cellsOf(string(r))
	}
	return ""
}
