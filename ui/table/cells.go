package table

import (
	"math"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

func (t *Table) writeCell(l *cell.Line, c *Column, r *Row) {
	s, g, p := &t.Appearance.Styles, &t.Appearance.Glyphs, r.Process
	figure, gpu := l.Scratch(), t.Snapshot.GPU(p.ID.GPUUUID) // nil: the GPU is not listed
	switch c.id {
	case columnGPU:
		instance := 0
		if gpu != nil {
			instance = gpu.InstanceNumber(p.ID.Instance)
		}
		l.RightFigure(s.Text, cell.AppendIndex(figure, p.GPU, instance), c.cells)
	case columnPID:
		if t.Find != "" {
			pid := strconv.Itoa(p.ID.Process.PID)
			l.Skip(c.cells - len(pid))
			t.left(l, s.Text, pid, len(pid))
			return
		}
		l.RightFigure(s.Text, cell.AppendInt(figure, p.ID.Process.PID), c.cells)
	case columnUser:
		style := s.Text
		if p.User == "" {
			style = s.Dim
		}
		t.left(l, style, cell.UserName(p), c.cells)
	case columnType:
		t.writeText(l, p.Type, c.cells)
	case columnRuntime:
		t.writeText(l, p.Runtime, c.cells)
	case columnJob:
		t.writeText(l, p.Job.String(), c.cells)
	case columnSM:
		l.RightFigure(t.Appearance.Known(p.SMUtilization.Known()), cell.AppendPercent(figure, p.SMUtilization, g.Dash), c.cells)
	case columnCPU:
		cpu := snapshot.Int{}
		if v, ok := p.CPU.Value(); ok {
			cpu = quantity.From(int(min(max(v, 0), 99999)+0.5), quantity.System)
		}
		l.RightFigure(t.Appearance.Known(cpu.Known()), cell.AppendPercentOf(figure, cpu, g.Dash), c.cells)
	case columnBar:
		// The capacity of the GPU is the scale of the bar.
		if gpu == nil || !p.Used.Known() || gpu.Memory.Capacity().Or(0) <= 0 {
			l.Skip(c.cells)
			return
		}
		l.Bar(t.Appearance, cell.ProcessParts(p), gpu.Memory.Capacity().Or(0), c.cells)
	case columnPredicted:
		t.writePrediction(l, p, c.cells)
	case columnTrend:
		trend := t.trend(p)
		l.Put(trend.Style, trend.Text)
	case columnSpark:
		t.writeSpark(l, p, c.cells)
	case columnTime:
		if p.Started.IsZero() {
			l.Right(s.Dim, g.Dash, c.cells)
			return
		}
		l.RightFigure(s.Text, quantity.AppendDuration(figure, cell.Moment(t.Now).Since(p.Started)), c.cells)
	case columnCommand:
		t.writeCommand(l, r, c.cells)
	default:
		t.writeAmount(l, c, p)
	}
}

func (t *Table) writeText(l *cell.Line, s string, cells int) {
	if s == "" {
		l.Left(t.Appearance.Styles.Dim, t.Appearance.Glyphs.Dash, cells, "")
		return
	}
	t.left(l, t.Appearance.Styles.Text, text.Clean(s), cells)
}

// writeAmount writes an amount of memory. What a stale probe reported is dim; cached memory that no flush frees is in
// brackets.
func (t *Table) writeAmount(l *cell.Line, c *Column, p *snapshot.Process) {
	s, g := &t.Appearance.Styles, &t.Appearance.Glyphs
	amount := amountOf(p, c.id)
	if c.parts && p.Probe != nil && p.Probe.State == snapshot.ProbeSilent {
		amount = snapshot.Bytes{}
	}
	v, ok := amount.Value()
	style := t.Appearance.Known(ok)
	if c.parts && p.Probe != nil && p.Probe.State == snapshot.ProbeStale {
		style = s.Dim
	}
	if c.id == columnOther && v < 0 {
		style = s.Warning
	}
	if c.id == columnCached && v > 0 && p.Returnable.Known() && p.Returnable.Or(0) == 0 {
		l.RightFigure(style, cell.AppendUnreturnable(l.Scratch(), v), c.cells)
		return
	}
	l.RightFigure(style, cell.AppendBytes(l.Scratch(), amount, g.Dash), c.cells)
}

// writePrediction writes the median of the forecast: dim near the present figure, "full" from the capacity on.
func (t *Table) writePrediction(l *cell.Line, p *snapshot.Process, cells int) {
	s, g := &t.Appearance.Styles, &t.Appearance.Glyphs
	median, ok := predicted(p)
	if !ok {
		l.Right(s.Dim, g.Dash, cells)
		return
	}
	if gpu := t.Snapshot.GPU(p.ID.GPUUUID); gpu != nil {
		if room, known := gpu.MemoryOf(p.ID.Instance).Capacity().Value(); known && median >= room {
			l.Right(s.Leak, "full", cells)
			return
		}
	}
	style := s.Text
	if used, known := p.Used.Value(); known && max(median-used, used-median) <= used/100 {
		style = s.Dim
	}
	l.RightFigure(style, median.Append(l.Scratch()), cells)
}

// trend returns the trend in one cell; blank if steady or unknown.
func (t *Table) trend(p *snapshot.Process) cell.Span {
	s, g := &t.Appearance.Styles, &t.Appearance.Glyphs
	return [...]cell.Span{
		snapshot.TrendUnknown: {s.Text, " "}, snapshot.TrendYoung: {s.Dim, "."}, snapshot.TrendSteady: {s.Text, " "},
		snapshot.TrendGrowing: {s.Text, g.Up}, snapshot.TrendShrinking: {s.Text, g.Down},
		snapshot.TrendSawtooth: {s.Text, g.Sawtooth}, snapshot.TrendLeak: {s.Leak, g.Leak},
	}[p.Trend]
}

// sparkWindow is the time that the column LAST 10m shows.
const sparkWindow = 10 * time.Minute

// Sparks keeps the column LAST 10m for all frames that show one snapshot.
type Sparks struct {
	of    *snapshot.Snapshot
	drawn map[*snapshot.Process]string
}

func (t *Table) writeSpark(l *cell.Line, p *snapshot.Process, cells int) {
	kept := t.Sparks
	if kept.of != t.Snapshot {
		*kept = Sparks{t.Snapshot, make(map[*snapshot.Process]string)}
	}
	spark, ok := kept.drawn[p]
	if !ok {
		spark = t.spark(p, cells)
		kept.drawn[p] = spark
	}
	l.Right(t.Appearance.Styles.Dim, spark, cells)
}

// spark draws the maximum of used memory in each minute, so that no spike disappears. It draws nothing if the memory
// has changed by less than a tenth, and leaves out blanks before the first value.
func (t *Table) spark(p *snapshot.Process, cells int) string {
	g := &t.Appearance.Glyphs
	if t.History == nil || len(g.Spark) == 0 {
		return ""
	}
	key := snapshot.SeriesKey{Metric: metric.Used, GPUUUID: p.ID.GPUUUID, Instance: p.ID.Instance, Row: p.ID}
	points := t.History.Series(key, t.Now.Add(-sparkWindow), t.Now, cells)
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, point := range points {
		if point.Known {
			low, high = min(low, point.Max), max(high, point.Max)
		}
	}
	span, spark := high-low, ""
	if span < max(high/10, 1) {
		return ""
	}
	for _, point := range points {
		level := int(float64(point.Max-low) / float64(span) * float64(len(g.Spark)))
		switch {
		case point.Known:
			spark += g.Spark[min(max(level, 0), len(g.Spark)-1)]
		case spark != "":
			spark += " "
		}
	}
	return spark
}

// writeCommand writes the command, scrolled by ← →. A warning stands before it or in its place.
func (t *Table) writeCommand(l *cell.Line, r *Row, cells int) {
	s, g, p := &t.Appearance.Styles, &t.Appearance.Glyphs, r.Process
	style := s.Text
	if p.ID.Process.Foreign() {
		style = s.Dim
	}
	if p.Probe != nil && p.Probe.Mismatch {
		if other, ok := p.Other.Value(); ok && other < 0 {
			l.Left(s.Warning, "parts exceed used by "+(-other).String(), cells, g.Ellipsis)
			return
		}
	}
	start := l.Used()
	if r.depth > 0 {
		depth := min(r.depth-1, cells/4)
		l.Skip(2 * depth)
		l.Put(s.Rule, g.Corners[2]+g.Rule)
	}
	if p.Probe != nil && p.Probe.State == snapshot.ProbeStale {
		l.Put(s.Warning, "stale "+quantity.Duration(p.Probe.Age))
		l.Put(s.Dim, " | ")
	}
	room := start + cells - l.Used()
	command := cell.Scrolled(t.Appearance.ShortCommand(p), t.ScrollX, room, g.Ellipsis)
	if t.Find != "" && !l.Marked() && Matches(p, t.Find) {
		// If the match is not in view, the visible part of the command is marked.
		if seen := text.Cut(command, room, g.Ellipsis); !containsFold(seen, t.Find) {
			l.PutMarked(s.Match, seen)
			l.Skip(start + cells - l.Used())
			return
		}
	}
	t.left(l, style, command, room)
}
