package report

import (
	"fmt"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Layout is a report as tables and lists, which text, Markdown and HTML share.
type Layout struct {
	Period   string // "2026-11-20 12:00 to 2026-11-21 12:00 UTC"
	Recorded string // "recorded 21 h 40 min of 24 h"
	Tables   []Table
	Lists    []List
}

// Table is a table. Each row has a cell for each column.
type Table struct {
	Title   string
	Note    string
	Columns []Column
	Rows    []Row
}

type Column struct {
	Title string
	Short string // the title in text output, without spaces
	Name  bool   // the cells are words, not figures
	Wide  bool   // the column is left out if there is little room
}

// Row is a row of a table.
type Row struct {
	Cells []string
	All   bool  // the row for all GPUs
	Bars  []Bar // segments of the row's bar, in all rows of a table or in none; their shares add up to at most 1
}

// Bar is one segment of a row's bar. Class is its CSS class.
type Bar struct {
	Class string
	Share float64
}

// List is a list of named figures.
type List struct {
	Title string
	Note  string
	Items []Item
}

type Item struct{ Name, Value string }

type layouter struct {
	report *schema.Report
	dash   string // for an unknown value
	most   int    // the most rows in a table of groups
}

// Lay lays a report out. Tables of groups have at most limit rows. dash stands for an unknown value.
func Lay(r *schema.Report, dash string, limit int) Layout {
	l := layouter{r, dash, limit}
	out := Layout{Period: PeriodText(&r.Period), Recorded: RecordedText(&r.Period)}
	if r.Comparison != nil {
		out.Tables = append(out.Tables, l.comparison())
	}
	out.Tables = append(out.Tables, l.shares(), l.hours())
	if t := l.users(); len(t.Rows) > 0 {
		out.Tables = append(out.Tables, t)
	}
	if r.Total.WastedGiBHours.Known() {
		out.Tables = append(out.Tables, l.wasters())
	}
	for _, t := range []Table{l.failing(), l.throughput()} {
		if len(t.Rows) > 0 {
			out.Tables = append(out.Tables, t)
		}
	}
	out.Lists = append(out.Lists, l.forecaster(), l.flushes())
	if idle := l.idleServers(); len(idle.Items) > 0 {
		out.Lists = append(out.Lists, idle)
	}
	return out
}

// PeriodText writes a period in the local time of its beginning.
func PeriodText(p *schema.ReportPeriod) string {
	const minutes, seconds = "2006-01-02 15:04", "2006-01-02 15:04:05"
	from, to := time.Time(p.From), time.Time(p.To)
	layout := minutes
	if to.Sub(from) < 10*time.Minute {
		layout = seconds
	}
	return from.Format(layout) + " to " + to.Format(layout+" MST")
}

// RecordedText writes how much of a period was recorded.
func RecordedText(p *schema.ReportPeriod) string {
	return fmt.Sprintf("recorded %s of %s", spell(p.RecordedSeconds), spell(p.Seconds))
}

// spell returns "21 h 40 min", "3 d 2 h", "5 min" or "40 s".
func spell(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	pair := func(big, small time.Duration, bigUnit, smallUnit string) string {
		out := fmt.Sprintf("%d %s", d/big, bigUnit)
		if rest := d % big / small; rest > 0 {
			out += fmt.Sprintf(" %d %s", rest, smallUnit)
		}
		return out
	}
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return pair(time.Minute, time.Second, "min", "s")
	case d < 3*day:
		return pair(time.Hour, time.Minute, "h", "min")
	default:
		return pair(day, time.Hour, "d", "h")
	}
}

// Figure formats a number with about three digits: "1466", "88.3", "4.21", "0".
func Figure(v float64) string {
	a := max(v, -v)
	switch {
	case a == 0:
		return "0"
	case a < 0.005:
		return map[bool]string{true: "<.01", false: ">-.01"}[v > 0]
	case a < 9.995:
		return fmt.Sprintf("%.2f", v)
	case a < 99.95:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

func known[T any](l *layouter, v quantity.Optional[T], written func(T) string) string {
	if value, ok := v.Value(); ok {
		return written(value)
	}
	return l.dash
}

func (l *layouter) figure(v snapshot.Float) string { return known(l, v, Figure) }

func counted[T int | int64](l *layouter, v quantity.Optional[T]) string {
	return known(l, v, func(n T) string { return fmt.Sprint(n) })
}

// percent returns a share: "61%", "4.2%", "<.1%".
func (l *layouter) percent(share snapshot.Float) string {
	switch v, known := share.Value(); {
	case !known:
		return l.dash
	case v > 0 && v < 0.05:
		return "<.1%"
	case v != 0 && v < 9.95 && v > -9.95:
		return fmt.Sprintf("%.1f%%", v)
	default:
		return fmt.Sprintf("%.0f%%", v)
	}
}

// hoursText returns a time: "2h10m", "40m", "0".
func (l *layouter) hoursText(hours snapshot.Float) string {
	minutes := int(hours.Or(0)*60 + 0.5)
	switch {
	case !hours.Known():
		return l.dash
	case minutes == 0:
		return "0"
	case minutes < 60:
		return fmt.Sprintf("%dm", minutes)
	default:
		return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
	}
}

func memoryColumns() []Column {
	return []Column{
		{Title: "GPU", Short: "GPU"}, {Title: "Used", Short: "USED"}, {Title: "Allocated", Short: "ALLOC"}, {Title: "Cached", Short: "CACHE"},
		{Title: "Fragmented", Short: "FRAG"}, {Title: "Other", Short: "OTHER", Wide: true}, {Title: "Unknown", Short: "UNKN", Wide: true},
		{Title: "Free", Short: "FREE"},
	}
}

// perGPU adds a row for each GPU: its parts of memory, then the cells of rest. If there are several
// GPUs, it adds a row for all of them, which ends with the cells all.
func (l *layouter) perGPU(t Table, cell func(schema.ReportAmount) string, rest func(*schema.ReportGPU) []string, all ...string) Table {
	add := func(name string, m *schema.ReportMemory, rest []string, all bool) {
		row := Row{Cells: []string{name}, All: all}
		for _, a := range []*schema.ReportAmount{m.Used, m.Allocated, m.Cached, m.Fragmented, m.Other, m.Unknown, m.Free} {
			written := l.dash
			if a != nil {
				written = cell(*a)
			}
			row.Cells = append(row.Cells, written)
		}
		row.Cells = append(row.Cells, rest...)
		t.Rows = append(t.Rows, row)
	}
	for i := range l.report.GPUs {
		g := &l.report.GPUs[i]
		add(fmt.Sprint(g.GPU), &g.Memory, rest(g), false)
	}
	if len(l.report.GPUs) > 1 {
		add("all", &l.report.Total.Memory, all, true)
	}
	return t
}

func (l *layouter) shares() Table {
	t := Table{Title: "Memory", Note: "time-weighted, per cent of the capacity", Columns: append(memoryColumns(),
		Column{Title: "Utilization", Short: "UTIL"}, Column{Title: "Idle holding", Short: "IDLE"}, Column{Title: "Peak", Short: "PEAK"})}
	share := func(a schema.ReportAmount) string { return l.percent(a.Percent) }
	return l.perGPU(t, share, func(g *schema.ReportGPU) []string {
		return []string{l.percent(g.UtilizationPercent), l.hoursText(g.IdleHours), l.bytes(g.PeakBytes)}
	}, l.percent(l.report.Total.UtilizationPercent), l.hoursText(l.report.Total.IdleHours), "")
}

func (l *layouter) hours() Table {
	t := Table{Title: "Memory over time", Note: "GiB·h; out-of-memory errors (OOM) and alloc retries, in all and per hour", Columns: append(memoryColumns(),
		Column{Title: "OOM", Short: "OOM"}, Column{Title: "per h", Short: "OOM/H", Wide: true},
		Column{Title: "Retries", Short: "RETRY"}, Column{Title: "per h", Short: "RETRY/H", Wide: true})}
	total := &l.report.Total.Failures
	if total.Rescued+total.NotRescued > 0 {
		t.Note += fmt.Sprintf("; allocations rescued: %d, asked for in vain: %d", total.Rescued, total.NotRescued)
	}
	hours := func(a schema.ReportAmount) string { return Figure(a.GiBHours) }
	counts := func(f *schema.ReportFailures) []string {
		return []string{counted(l, f.OutOfMemory), l.figure(f.OutOfMemoryPerHour), counted(l, f.Retries), l.figure(f.RetriesPerHour)}
	}
	return l.perGPU(t, hours, func(g *schema.ReportGPU) []string { return counts(&g.Failures) }, counts(total)...)
}
