package page

import (
	"bytes"
	_ "embed" // the template and the style sheet
	"fmt"
	"html/template"
	"slices"
	"time"

	"vramscope/internal/text"
	"vramscope/recording/report"
	"vramscope/schema"
)

//go:embed page.html
var source string

//go:embed page.css
var style string

// mostEvents is how many events a page lists: the newest.
const mostEvents = 200

// mostRows is how many processes a table has.
const mostRows = 20

type page struct {
	Title, Foot string
	Host        string
	Simulated   bool
	CSS         template.CSS
	Layout      report.Layout
	Tiles       []tile
	GPUs        []gpu
	Tables      []table
	Events      []event
	EventNote   string
}

// tile is one of the figures at the top.
type tile struct{ Value, Text string }

type gpu struct {
	Name, Caption, Label string
	Chart                template.HTML
}

type table struct {
	report.Table
	Bars bool
	Rows []row
}

type row struct {
	All   bool
	Cells []cell
	Bars  []bar
}

type cell struct{ Text, Class string }

type bar struct {
	Class string
	Width template.CSS
}

type event struct{ Time, GPU, Class, What, Process, Message string }

// Write is the page of a report.
func Write(r *schema.Report) ([]byte, error) {
	parsed, err := template.New("page").Parse(source)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	host := text.Clean(string(r.Host))
	p := page{
		Title: "GPU memory of " + host, Host: host, Simulated: r.Simulated, CSS: template.CSS(style),
		Layout: report.Lay(r, "–", mostRows), Tiles: tiles(r),
		Foot: "vramscope report, " + time.Time(r.Time).Format("2006-01-02 15:04 MST") + ". Time without samples is not counted. " +
			"GiB·h: memory times the time for which it was used.",
	}
	for i := range r.GPUs {
		g := &r.GPUs[i]
		drawn, err := drawGPU(g, &r.Period, r.Events)
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		p.GPUs = append(p.GPUs, describe(g, drawn))
	}
	for _, t := range p.Layout.Tables {
		p.Tables = append(p.Tables, tableOf(t))
	}
	p.events(r)
	var out bytes.Buffer
	if err := parsed.Execute(&out, &p); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return out.Bytes(), nil
}

// tiles are what a reader wants to know first.
func tiles(r *schema.Report) []tile {
	all := &r.Total
	known := func(v *float64, format string) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf(format, *v)
	}
	used := tile{"–", "of memory used"}
	wasted := tile{"–", "wasted"}
	if all.WastedGiBHours != nil {
		wasted.Value = report.Figure(*all.WastedGiBHours) + " GiB·h"
	}
	if m := all.Memory.Used; m != nil {
		used = tile{known(m.Percent, "%.0f%%"), "of memory used: " + report.Figure(m.GiBHours) + " GiB·h"}
		if m.GiBHours > 0 && all.WastedGiBHours != nil {
			wasted.Text += fmt.Sprintf(": %.0f%% of what was used", 100**all.WastedGiBHours/m.GiBHours)
		}
	}
	f := &r.Forecaster
	alerts := tile{"–", "times that memory ran out had an alert"}
	switch {
	case f.Fills == nil:
	case *f.Fills == *f.Sudden:
		alerts = tile{"0", "times that memory ran out and could be forecast"}
	default:
		alerts.Value = fmt.Sprintf("%d of %d", *f.Fills-*f.Missed-*f.Sudden, *f.Fills-*f.Sudden)
	}
	if f.False > 0 {
		alerts.Text += fmt.Sprintf("; %d false", f.False)
	}
	count := "–"
	if n := all.Failures.OutOfMemory; n != nil {
		count = fmt.Sprint(*n)
	}
	return []tile{
		used,
		{known(all.UtilizationPercent, "%.0f%%"), "mean utilization"},
		wasted,
		{count, "out-of-memory errors, " + known(all.Failures.OutOfMemoryPerHour, "%.2g an hour")},
		alerts,
	}
}

func describe(g *schema.ReportGPU, drawn template.HTML) gpu {
	out := gpu{Name: fmt.Sprintf("GPU %d", g.GPU), Chart: drawn}
	if m := g.Memory.Used; m != nil && m.Percent != nil {
		out.Caption = fmt.Sprintf("used %.0f%%", *m.Percent)
	}
	if g.UtilizationPercent != nil {
		out.Caption += fmt.Sprintf(" · util %.0f%%", *g.UtilizationPercent)
	}
	if peak, ok := g.PeakBytes.Value(); ok {
		out.Caption += " · peak " + peak.String()
	}
	out.Label = out.Name + " memory over time: " + out.Caption
	return out
}

// tableOf sets a table with what names its rows in front. Text has it at the end,
// where it may be long.
func tableOf(t report.Table) table {
	if last := len(t.Columns) - 1; t.Columns[last].Name && t.Columns[last].Short == "COMMAND" {
		front := func(of []string) []string { return slices.Insert(slices.Clone(of[:last]), 0, of[last]) }
		t.Columns = slices.Insert(slices.Clone(t.Columns[:last]), 0, t.Columns[last])
		t.Rows = slices.Clone(t.Rows)
		for i := range t.Rows {
			t.Rows[i].Cells = front(t.Rows[i].Cells)
		}
	}
	out := table{Table: t}
	for i := range t.Rows {
		from := &t.Rows[i]
		r := row{All: from.All}
		for k, c := range from.Cells {
			r.Cells = append(r.Cells, cell{c, Class(&t.Columns[k])})
		}
		for _, b := range from.Bars {
			r.Bars = append(r.Bars, bar{b.Class, template.CSS(fmt.Sprintf("width:%.1f%%", 100*b.Share))})
		}
		out.Bars = out.Bars || len(r.Bars) > 0
		out.Rows = append(out.Rows, r)
	}
	return out
}

// Class is how a column is set.
func Class(c *report.Column) string {
	class := ""
	if c.Name {
		class = "name"
	}
	if c.Wide {
		class += " wide"
	}
	return class
}

// HeadClass is that of a column's title.
func (t table) HeadClass(c report.Column) string { return Class(&c) }

// events are the newest ones, newest first.
func (p *page) events(r *schema.Report) {
	for i := len(r.Events) - 1; i >= 0 && len(p.Events) < mostEvents; i-- {
		e := &r.Events[i]
		what := map[string]string{
			"out_of_memory": "out of memory", "full_in": "alert: full soon", "flush": "flush", "gpu_lost": "GPU lost", "gpu_back": "GPU back",
		}[e.Kind]
		if e.Outcome != "" {
			what += map[string]string{"hit": ", right", "false": ", false", "acted_on": ", acted on", "undecided": ", undecided"}[string(e.Outcome)]
		}
		p.Events = append(p.Events, event{
			Time: time.Time(e.Time).Format("2006-01-02 15:04:05"), GPU: fmt.Sprint(e.GPU), Class: "mark-text " + classOf(e), What: what,
			Process: text.Clean(string(e.Process)), Message: text.Clean(string(e.Message)),
		})
	}
	if all := len(r.Events) + r.EventsLeftOut; all > len(p.Events) {
		p.EventNote = fmt.Sprintf("the newest %d of %d", len(p.Events), all)
	}
}
