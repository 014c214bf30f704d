package detail

import (
	"slices"
	"strconv"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/graph"
	"vramscope/ui/segments"
)

type Input struct {
	Appearance *cell.Appearance
	Snapshot   *snapshot.Snapshot // nil: nothing yet
	History    snapshot.History
	Now        cell.Moment
	Row        snapshot.RowID // the process
	NoDriver   bool
	Width      int // of the screen

	Whole    bool           // it fills the screen; else it stands beside the graph
	Graph    graph.Graph    // under the facts, where there is room
	Advice   string         // the best advice; "": none
	Segments *segments.View // the map that replaces the graph; nil: none
	Held     *Held          // the holders that replace the allocators; nil: none
}

// Panel is the detail. A line without facts is left out.
type Panel struct {
	Input

	scratch *cell.Line             // for one line after the other
	process *snapshot.Process      // nil: no process to show
	ended   *snapshot.EndedProcess // when and how it ended, nil while it runs
	index   string                 // of its GPU, "5:1" for an instance
	also    []string               // its other GPUs
	leak    *snapshot.Alert        // the alert about its leak
	gpuFull quantity.Bytes         // its used memory when the GPU is full; 0 where unknown
	fullIn  *snapshot.FullIn       // of its GPU or MIG instance
	away    bool                   // its GPU does not answer
	guard   string                 // its standing with the guard; "": none
}

func New(in Input) Panel {
	d := Panel{Input: in, scratch: cell.NewLine(in.Width)}
	s, id := in.Snapshot, in.Row
	if s == nil {
		return d
	}
	d.process = s.Row(id)
	if d.process == nil {
		if d.ended = s.EndedRow(id); d.ended == nil {
			return d
		}
		d.process = &d.ended.Last
	}
	for other := range s.ProcessRows(id.Process) {
		if other.ID != id {
			d.also = append(d.also, strconv.Itoa(other.GPU))
		}
	}
	d.leak = snapshot.Find(s.Alerts, func(a *snapshot.Alert) bool { return a.Kind == snapshot.AlertLeak && a.Row == id })
	d.index = strconv.Itoa(d.process.GPU)
	if gpu := s.GPU(id.GPUUUID); gpu != nil {
		d.index = string(cell.AppendIndex(nil, gpu.Index, gpu.InstanceNumber(id.Instance)))
		d.gpuFull = reachable(gpu, d.process).Or(0)
		d.fullIn = gpu.OutlookOf(id.Instance).FullIn
		d.away = gpu.State != snapshot.GPUOK && gpu.State != ""
	}
	d.guard = guardWords(s.Guard, id)
	return d
}

// Render returns exactly height lines of exactly width cells.
func (d Panel) Render(width, height int) []string {
	switch {
	case width <= 0 || height <= 0:
		return cell.Blank(max(width, 0), height)
	case d.Whole:
		return cell.Fill(d.whole(width, height), width, height)
	default:
		lines := d.beside(width, height)
		if room := height - len(lines) - 1; room >= graph.GoodHeight && d.process != nil {
			lines = append(append(lines, strings.Repeat(" ", width)), d.Graph.Render(width, room)...)
		}
		return cell.Fill(lines, width, height)
	}
}

func (d Panel) whole(width, height int) []string {
	p := d.process
	if p == nil {
		return []string{d.text(width, cell.Span{d.Appearance.Styles.Dim, "no process to show"})}
	}
	if height < minHeight {
		return d.brief(width)
	}
	if d.Segments != nil {
		facts := d.besideMap(d.above(width, height), width, height)
		native := slices.ContainsFunc(p.Allocators, func(a snapshot.Allocator) bool { return a.Kind == "pytorch" })
		segmentMap := segments.Panel{Appearance: d.Appearance, Now: d.Now, View: *d.Segments, PyTorch: native}
		return append(facts, segmentMap.Render(width, height-len(facts))...)
	}
	lines := d.aboveGraph(width, height)
	if room := height - len(lines); room >= graph.MinHeight {
		lines = append(lines, d.Graph.Render(width, room)...)
	}
	return lines
}

// GraphRows returns how high the graph of the full screen is, 0 if it has none.
func (d Panel) GraphRows(width, height int) int {
	if d.process == nil || d.Segments != nil {
		return 0
	}
	if room := height - len(d.aboveGraph(width, height)); room >= graph.MinHeight {
		return room
	}
	return 0
}

func (d Panel) aboveGraph(width, height int) []string {
	if d.Held != nil {
		return append(d.besideMap(d.above(width, height), width, height), d.held(width)...)
	}
	lines := append(d.above(width, height), "")
	lines = append(lines, d.totals(width)...)
	if d.Advice != "" {
		lines = append(lines, d.text(width, cell.Span{d.Appearance.Styles.Dim, text.Pad("advice", partName)}, cell.Span{d.Appearance.Styles.Text, d.Advice}))
	}
	outlook := d.outlook(width)
	outlook = append(outlook, d.needs(width, height-len(lines)-len(outlook)-graph.GoodHeight)...)
	// Each allocator gets its own lines if the graph keeps a good height.
	if room := height - len(lines) - len(outlook) - graph.GoodHeight; room > 2 {
		lines = append(lines, d.allocators(width, min(room, maxAllocatorLines))...)
	} else {
		lines = append(lines, d.inShort(width)...)
	}
	return blanked(append(lines, outlook...), width)
}

// above returns the upper part: the process, and the parts of its memory.
func (d Panel) above(width, height int) []string {
	s, p := &d.Appearance.Styles, d.process
	lines := []string{d.text(width,
		cell.Span{s.Strong, "GPU " + d.index}, cell.Span{s.Strong, "  PID " + strconv.Itoa(p.ID.Process.PID)},
		cell.Span{s.Text, "  " + cell.UserName(p) + "  " + cell.ShortCommand(p)})}
	lines = append(lines, d.command(width, d.commandLines(height))...)
	lines = append(lines, d.text(width, cell.Span{s.Text, strings.Join(d.facts(true), ", ")}), d.text(width, d.state()...))
	if d.guard != "" {
		lines = append(lines, d.text(width, cell.Span{s.Text, d.guard}))
	}
	return append(append(append(lines, d.served(width)...), ""), d.parts(width)...)
}

func (d Panel) beside(width, height int) []string {
	s, p := &d.Appearance.Styles, d.process
	if p == nil {
		return []string{cell.TitledRule(d.Appearance, width, "no process", s.Title, nil)}
	}
	lines := []string{
		cell.TitledRule(d.Appearance, width, "PID "+strconv.Itoa(p.ID.Process.PID), s.Title, []cell.Span{{s.Key, "Enter"}, {s.Dim, ": full screen"}}),
		d.text(width, cell.Span{s.Strong, cell.UserName(p)}, cell.Span{s.Text, "  " + cell.ShortCommand(p)}),
		d.text(width, cell.Span{s.Text, strings.Join(append([]string{"GPU " + d.index}, d.facts(false)...), ", ")}),
		d.text(width, d.state()...),
	}
	if d.guard != "" {
		lines = append(lines, d.text(width, cell.Span{s.Text, d.guard}))
	}
	lines = append(lines, d.served(width)...)
	who := len(lines)
	lines = append(lines, d.parts(width)...)
	totals, outlook := d.totals(width), d.outlook(width)
	outlook = append(outlook, d.needs(width, height-len(lines)-len(totals)-len(outlook)-2)...)
	if room := height - len(lines) - len(totals) - len(outlook) - 2; room > 0 {
		totals = append(totals, d.allocators(width, room)...)
	}
	totals = append(totals, outlook...)
	// A blank line before and after the parts, as far as there is room.
	if len(lines)+len(totals)+1 <= height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	if len(lines)+len(totals)+1 <= height {
		lines = append(lines[:who:who], append([]string{strings.Repeat(" ", width)}, lines[who:]...)...)
	}
	return append(lines, totals...)
}

// line returns the scratch line, emptied for the next line of the panel.
func (d Panel) line(width int) *cell.Line {
	d.scratch.Reset(width)
	return d.scratch
}

// text returns a line of spans, indented by a cell.
func (d Panel) text(width int, spans ...cell.Span) string {
	l := d.line(width)
	l.Skip(1)
	l.PutSpans(spans, width-1, d.Appearance.Glyphs.Ellipsis)
	return l.String()
}

// facts returns the facts about the process other than its GPU memory; not all if it stands beside the graph.
func (d Panel) facts(all bool) []string {
	p := d.process
	var facts []string
	if p.Runtime != "" {
		facts = append(facts, text.Clean(strings.TrimRight(p.Runtime+" "+p.RuntimeVersion, " ")+allocatorName(p)))
	}
	if p.Type != "" && all {
		facts = append(facts, text.Clean(p.Type))
	}
	facts = append(facts, mpsLimits(p)...)
	if !p.Started.IsZero() && d.ended == nil {
		facts = append(facts, "up "+quantity.Duration(d.Now.Since(p.Started)))
	}
	if job := text.Clean(p.Job.String()); job != "" {
		facts = append(facts, job)
	}
	if all {
		for _, part := range p.Job.Details() {
			facts = append(facts, text.Clean(part))
		}
	}
	if v, ok := p.SMUtilization.Value(); ok {
		facts = append(facts, "SM "+strconv.Itoa(v)+"%")
	}
	if v, ok := p.CPU.Value(); ok && all {
		facts = append(facts, "CPU "+strconv.FormatFloat(v, 'f', 0, 64)+"%")
	}
	if v, ok := p.Host.Value(); ok && all {
		facts = append(facts, "host "+v.String())
	}
	if len(d.also) > 0 {
		facts = append(facts, "also on GPU "+strings.Join(d.also, ","))
	}
	return facts
}

// mpsLimits returns the limits that the process has set itself as a client of MPS. The MPS server may set lower ones.
func mpsLimits(p *snapshot.Process) (facts []string) {
	if v, ok := p.MPSLimit.Value(); ok {
		facts = append(facts, "MPS limit "+v.String())
	}
	if v, ok := p.MPSThreads.Value(); ok {
		facts = append(facts, "MPS threads "+strconv.FormatFloat(v, 'g', 3, 64)+"%")
	}
	return facts
}

// allocatorName returns which of PyTorch's two allocators the process uses.
func allocatorName(p *snapshot.Process) string {
	if p.Runtime != "PyTorch" || len(p.Allocators) == 0 {
		return ""
	}
	switch p.Allocators[0].Kind {
	case "pytorch":
		return " native"
	case "cuda_pool":
		return " cudaMallocAsync"
	default:
		return ""
	}
}
