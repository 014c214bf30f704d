package screen

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"vramscope/fleet"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/gpus"

	"vramscope/internal/text"
)

// columns holds the width of each column, without the blank before it; 0 omits the column.
type columns struct{ name, gpu, bar, used, free, cached, util, temp, power, note int }

// The least widths of columns.
const leastName, leastBar, leastNote = 8, 10, 10

func (m *model) columns() columns {
	for i := range m.lines() {
		m.names = max(m.names, text.Width(text.Clean(m.lines()[i].Name())))
	}
	c := columns{name: min(max(m.names, leastName), max(m.width/5, leastName)), gpu: 3, used: 5}
	type step struct{ from, used, free, cached, util, temp, power, note int }
	// A wider screen never loses a figure.
	for _, s := range []step{
		{from: 40, used: 5, note: 10}, {from: 56, used: 5, util: 4, note: 14}, {from: 70, used: 12, util: 4, temp: 4, note: 20},
		{from: 100, used: 12, free: 5, cached: 5, util: 4, temp: 4, power: 5, note: 24}, {from: 140, used: 12, free: 5, cached: 5, util: 4, temp: 4, power: 5, note: 40},
	} {
		if m.width >= s.from {
			c.used, c.free, c.cached, c.util, c.temp, c.power, c.note = s.used, s.free, s.cached, s.util, s.temp, s.power, s.note
		}
	}
	c.bar = m.width - 1 - c.name - 1 - c.gpu - 1
	for _, cells := range []int{c.used, c.free, c.cached, c.util, c.temp, c.power} {
		if cells > 0 {
			c.bar -= cells + 1
		}
	}
	c.bar -= c.note
	if c.bar > 80 {
		c.note, c.bar = c.note+c.bar-80, 80
	}
	if c.bar < leastBar {
		c.note, c.bar = max(c.note-leastBar+c.bar, leastNote), leastBar
	}
	return c
}

// titles writes the column titles, and reports whether there was room for the legend.
func (m *model) titles(l *cell.Line, c columns) (legend bool) {
	s := &m.look.Styles
	l.Skip(1)
	l.Left(s.Header, cmp.Or(map[fleet.Unit]string{fleet.Users: "USER", fleet.Jobs: "JOB"}[m.unit()], "BOX"), c.name, "")
	l.Skip(1)
	title := "GPU"
	if p := m.view.Picture; p != nil && p.Unit != fleet.GPUs {
		title = "n"
	}
	l.Right(s.Header, title, c.gpu)
	l.Skip(1)
	start := l.Used()
	gpus.WriteLegend(l, &m.look, c.bar)
	legend = l.Used() > start
	l.To(start + c.bar)
	used := "USED/TOTAL"
	if c.used < len(used) {
		used = "USED"
	}
	for _, column := range []struct {
		title string
		cells int
	}{{used, c.used}, {"FREE", c.free}, {"FLUSH", c.cached}, {"UTIL", c.util}, {"TEMP", c.temp}, {"POWER", c.power}} {
		if column.cells > 0 {
			l.Skip(1)
			l.Right(s.Header, column.title, column.cells)
		}
	}
	l.Skip(3)
	l.Put(s.Header, "NOTE")
	return legend
}

func (m *model) writeLine(l *cell.Line, line *fleet.Line, c columns, cursor bool) {
	s, g := &m.look.Styles, &m.look.Glyphs
	mark, name := " ", s.Text
	if cursor {
		mark, name = ">", s.Cursor
	}
	l.Put(s.Strong, mark)
	title := line.Name()
	if m.unit() == fleet.Jobs {
		title = line.Job
	}
	l.Left(name, g.Words(cmp.Or(title, g.Dash)), c.name, g.Ellipsis)
	l.Skip(1)
	r := line.GPU
	switch {
	case r.Index >= 0:
		l.RightFigure(s.Text, cell.AppendIndex(l.Scratch(), r.Index, 0), c.gpu)
	case line.GPUs > 0 && r.UUID == "":
		l.Right(s.Dim, strconv.Itoa(line.GPUs)+g.Times, c.gpu)
	default:
		l.Right(s.Dim, g.Dash, c.gpu)
	}
	l.Skip(1)
	capacity := r.Memory.Capacity().Or(0)
	switch {
	case line.State == fleet.Down:
		l.BarWords(&m.look, []string{"does not answer", "down"}, c.bar)
	case line.State == fleet.Asking:
		l.BarWords(&m.look, []string{"asking" + g.Ellipsis}, c.bar)
	case line.State == fleet.Stopped:
		l.BarWords(&m.look, []string{"figures are old", "old"}, c.bar)
	case r.State != "" && r.State != snapshot.GPUOK:
		l.BarWords(&m.look, []string{g.Words(string(r.State))}, c.bar)
	case !r.Memory.Used.Known() || capacity <= 0:
		l.BarWords(&m.look, []string{"usage unknown", "unknown"}, c.bar)
	default:
		l.Bar(&m.look, cell.PartsOf(r.Parts, r.Memory.Used), capacity, c.bar)
	}
	if line.State == fleet.OK { // otherwise the reason takes the place of the figures
		m.figures(l, &r, c)
	}
	m.note(l, line)
}

func (m *model) figures(l *cell.Line, r *snapshot.GPU, c columns) {
	g := &m.look.Glyphs
	known := func(b bool) themes.Style { return m.look.Known(b) }
	used := r.Memory.Used
	if c.used >= 10 {
		l.Figure(known(used.Known()), cell.AppendUsedTotal(l.Scratch(), used, r.Memory.Total, g.Dash), c.used)
	} else {
		l.Figure(known(used.Known()), cell.AppendBytes(l.Scratch(), used, g.Dash), c.used)
	}
	l.Figure(known(r.Memory.Free.Known()), cell.AppendBytes(l.Scratch(), r.Memory.Free, g.Dash), c.free)
	l.Figure(known(r.Parts.Returnable.Known()), cell.AppendBytes(l.Scratch(), r.Parts.Returnable, g.Dash), c.cached)
	l.Figure(known(r.Utilization.Known()), cell.AppendPercent(l.Scratch(), r.Utilization, g.Dash), c.util)
	style := known(r.Temperature.Known())
	if slow, ok := r.TemperatureSlowdown.Value(); ok && r.Temperature.Or(0) >= slow-5 {
		style = m.look.Styles.Warning
	}
	l.Figure(style, cell.AppendTemperature(l.Scratch(), r.Temperature, g.Dash), c.temp)
	l.Figure(known(r.Power.Known()), cell.AppendWatts(l.Scratch(), r.Power, g.Dash), c.power)
}

// alertWords are the notes of alerts, short enough for every width.
var alertWords = map[snapshot.AlertKind]string{
	snapshot.AlertLost: "GPU lost", snapshot.AlertHanging: "hangs", snapshot.AlertECC: "ECC error", snapshot.AlertXID: "Xid",
	snapshot.AlertOutOfMemory: "out of memory", snapshot.AlertLowMemory: "low memory", snapshot.AlertLeak: "leak",
	snapshot.AlertThrottled: "throttled", snapshot.AlertDriver: "no driver", snapshot.AlertFullIn: "fills up",
}

// note writes the worst problem of a line or, without a problem, the owner of most of its memory.
func (m *model) note(l *cell.Line, line *fleet.Line) {
	s, g := &m.look.Styles, &m.look.Glyphs
	l.Skip(1)
	cells := m.width - l.Used() - 1
	put := func(style themes.Style, words string) { l.Put(style, text.Cut("! "+words, cells, g.Ellipsis)) }
	switch {
	case line.Box == "":
		l.Skip(2)
		l.Put(s.Dim, text.Cut(g.Words(m.shareNote(line)), cells-2, g.Ellipsis))
	case line.State != fleet.OK:
		put(s.Warning, g.Words(line.Why))
	case line.Alert != "":
		style := s.Warning
		if line.Severity == snapshot.Urgent {
			style = s.Alarm
		}
		put(style, m.alertNote(line, cells-2))
		if rest := cells - (l.Used() - (m.width - cells - 1)) - 3; line.User != "" && rest >= 12 {
			l.Skip(3)
			l.Put(s.Dim, text.Cut(g.Words(line.User+" "+line.Program), rest, g.Ellipsis))
		}
	case line.Idle.Or(0) > 0:
		words := "idle"
		if line.GPUs > 1 {
			words = fmt.Sprintf("%d idle", line.Idle.Or(0))
		}
		l.Put(s.Warning, text.Cut(g.Words(strings.TrimSpace("! "+words+"   "+line.User+" "+line.Program)), cells, g.Ellipsis))
	default:
		l.Skip(2)
		owner := line.User
		if line.Program != "" {
			owner += " " + line.Program
		}
		if job := "  job " + line.Job; line.Job != "" && text.Width(g.Words(owner+job)) <= cells-2 {
			owner += job
		}
		l.Put(s.Dim, text.Cut(g.Words(owner), cells-2, g.Ellipsis))
	}
}

// shareNote counts the idle GPUs and the boxes of a line's processes, and names a job's user or counts a user's jobs.
func (m *model) shareNote(line *fleet.Line) string {
	var words []string
	if n := line.Idle.Or(0); n > 0 {
		words = append(words, strconv.Itoa(n)+" idle")
	}
	if m.unit() == fleet.Jobs {
		words = append(words, line.User)
	}
	if n, ok := line.Boxes.Value(); ok {
		words = append(words, text.Plural(n, "box", "boxes"))
	}
	if n, ok := line.Jobs.Value(); ok && m.unit() == fleet.Users {
		words = append(words, text.Plural(n, "job", "jobs"))
	}
	return strings.Join(words, "  ")
}

func (m *model) alertNote(line *fleet.Line, cells int) string {
	if full := line.GPU.FullIn; line.Alert == snapshot.AlertFullIn && full != nil {
		if words := full.Words(m.look.Glyphs.EnDash); full.Earliest > 0 && text.Width(words) <= cells {
			return words
		}
		return full.Brief()
	}
	if words := alertWords[line.Alert]; words != "" {
		return words
	}
	return m.look.Glyphs.Words(string(line.Alert))
}
