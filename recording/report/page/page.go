package page

import (
	_ "embed" // the style sheet
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/recording/report"
	"vramscope/schema"
)

//go:embed page.css
var style string

const mostEvents = 200

const mostRows = 20

type writer struct{ strings.Builder }

// put writes markup, in which the texts replace %s between tags or in an attribute. It escapes the
// texts, because names in a report come from processes and may be hostile.
func (w *writer) put(markup string, texts ...string) {
	escaped := make([]any, len(texts))
	for i := range texts {
		escaped[i] = html.EscapeString(text.Clean(texts[i]))
	}
	fmt.Fprintf(w, markup, escaped...)
}

func (w *writer) heading(tag, title, note string) {
	w.put("<%s>%s", tag, title)
	if note != "" {
		w.put(" <small>%s</small>", note)
	}
	w.put("</%s>\n", tag)
}

// Write returns the page of a report.
func Write(r *schema.Report) string {
	layout := report.Lay(r, "–", mostRows)
	w := &writer{}
	w.head(r, &layout)
	w.put(`<div class="tiles">`)
	for _, t := range tiles(r) {
		w.put(`<div class="tile"><b>%s</b><span>%s</span></div>`+"\n", t.Value, t.Text)
	}
	w.put("</div>\n")
	w.put(legend)
	for i := range r.GPUs {
		w.gpu(&r.GPUs[i], r)
	}
	w.put("</div>\n")
	for _, t := range layout.Tables {
		w.table(t)
	}
	w.put(`<div class="columns">` + "\n")
	for _, list := range layout.Lists {
		w.put("<section>")
		w.heading("h2", list.Title, list.Note)
		w.put("<dl>")
		for _, item := range list.Items {
			w.put("<dt>%s</dt><dd>%s</dd>", item.Name, item.Value)
		}
		w.put("</dl></section>\n")
	}
	w.put("</div>\n")
	w.events(r)
	w.put("<footer>vramscope report, %s. Time without samples is not counted. GiB·h: memory times the time for which it was used.</footer>\n</body>\n</html>\n",
		time.Time(r.Time).Format("2006-01-02 15:04 MST"))
	return w.String()
}

func (w *writer) head(r *schema.Report, layout *report.Layout) {
	host := string(r.Host)
	w.put(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>GPU memory of %s</title>
<style>`, host)
	w.WriteString(style)
	w.put("</style>\n</head>\n<body>\n<header>\n<h1>GPU memory")
	if host != "" {
		w.put(" of %s", host)
	}
	if r.Simulated {
		w.put(` <span class="badge">SIMULATED</span>`)
	}
	w.put("</h1>\n<p class=\"dim\">%s · %s</p>\n</header>\n", layout.Period, layout.Recorded)
}

const legend = `<h2>GPUs <small>memory over time</small></h2>
<div class="legend">
<span><i class="other"></i>other</span><span><i class="unknown"></i>unknown</span><span><i class="allocated"></i>allocated</span><span><i class="fragmented"></i>fragmented</span><span><i class="cached"></i>cached</span><span><i class="peak rule"></i>peak</span>
<span><i class="oom point"></i>out of memory</span><span><i class="alert round"></i>alert, right</span><span><i class="alert round hollow"></i>alert, other</span><span><i class="flush round"></i>flush</span><span><i class="lost round"></i>lost</span>
</div>
<div class="gpus">
`

type tile struct{ Value, Text string }

func tiles(r *schema.Report) []tile {
	all := &r.Total
	used := tile{"–", "of memory used"}
	wasted := tile{"–", "wasted"}
	hours, known := all.WastedGiBHours.Value()
	if known {
		wasted.Value = report.Figure(hours) + " GiB·h"
	}
	if m := all.Memory.Used; m != nil {
		used = tile{formatted(m.Percent, "%.0f%%"), "of memory used: " + report.Figure(m.GiBHours) + " GiB·h"}
		if m.GiBHours > 0 && known {
			wasted.Text += fmt.Sprintf(": %.0f%% of what was used", 100*hours/m.GiBHours)
		}
	}
	f := &r.Forecaster
	fills, judged := f.Fills.Value()
	fills -= f.Sudden.Or(0)
	alerts := tile{"–", "times that memory ran out had an alert"}
	switch {
	case !judged:
	case fills == 0:
		alerts = tile{"0", "times that memory ran out and could be forecast"}
	default:
		alerts.Value = fmt.Sprintf("%d of %d", fills-f.Missed.Or(0), fills)
	}
	if f.False > 0 {
		alerts.Text += fmt.Sprintf("; %d false", f.False)
	}
	return []tile{
		used,
		{formatted(all.UtilizationPercent, "%.0f%%"), "mean utilization"},
		wasted,
		{formatted(all.Failures.OutOfMemory, "%d"), "out-of-memory errors, " + formatted(all.Failures.OutOfMemoryPerHour, "%.2g an hour")},
		alerts,
	}
}

func formatted[T int64 | float64](v quantity.Optional[T], format string) string {
	if value, known := v.Value(); known {
		return fmt.Sprintf(format, value)
	}
	return "–"
}

func (w *writer) gpu(g *schema.ReportGPU, r *schema.Report) {
	name, caption := fmt.Sprintf("GPU %d", g.GPU), ""
	if m := g.Memory.Used; m != nil && m.Percent.Known() {
		caption = formatted(m.Percent, "used %.0f%%")
	}
	if g.UtilizationPercent.Known() {
		caption += formatted(g.UtilizationPercent, " · util %.0f%%")
	}
	if peak, ok := g.PeakBytes.Value(); ok {
		caption += " · peak " + peak.String()
	}
	w.put(`<figure><figcaption><b>%s</b><span>%s</span></figcaption><div role="img" aria-label="%s">`, name, caption, name+" memory over time: "+caption)
	w.WriteString(drawGPU(g, &r.Period, r.Events))
	w.put("</div></figure>\n")
}

// table writes a table. It moves a last column COMMAND, which names the rows, to the front. In text
// output that column is last because it may be long.
func (w *writer) table(t report.Table) {
	order := make([]int, len(t.Columns))
	for i := range order {
		order[i] = i
	}
	if last := len(order) - 1; t.Columns[last].Name && t.Columns[last].Short == "COMMAND" {
		order = slices.Insert(order[:last], 0, last)
	}
	bars := slices.ContainsFunc(t.Rows, func(r report.Row) bool { return len(r.Bars) > 0 })
	w.heading("h2", t.Title, t.Note)
	w.put("<div class=\"scroll\"><table>\n<tr>")
	for _, i := range order {
		w.put(`<th class="%s">%s</th>`, class(&t.Columns[i]), t.Columns[i].Title)
	}
	if bars {
		w.put(`<th class="bars"><span class="idle">idle</span> <span class="cached">not idle</span></th>`)
	}
	w.put("</tr>\n")
	for _, row := range t.Rows {
		if row.All {
			w.put(`<tr class="all">`)
		} else {
			w.put("<tr>")
		}
		for _, i := range order {
			w.put(`<td class="%s">%s</td>`, class(&t.Columns[i]), row.Cells[i])
		}
		if bars {
			w.put(`<td class="bars"><span class="bar">`)
			for _, b := range row.Bars {
				w.put(`<i class="%s" style="width:%s%%"></i>`, b.Class, fmt.Sprintf("%.1f", 100*b.Share))
			}
			w.put("</span></td>")
		}
		w.put("</tr>\n")
	}
	w.put("</table></div>\n")
}

func class(c *report.Column) string {
	class := ""
	if c.Name {
		class = "name"
	}
	if c.Wide {
		class += " wide"
	}
	return class
}

func (w *writer) events(r *schema.Report) {
	if len(r.Events) == 0 {
		return
	}
	shown, note := min(len(r.Events), mostEvents), ""
	if all := len(r.Events) + r.EventsLeftOut; all > shown {
		note = fmt.Sprintf("the newest %d of %d", shown, all)
	}
	w.put("<details>")
	w.heading("summary", "Events", note)
	w.put(`<div class="scroll"><table>
<tr><th class="name">Time</th><th>GPU</th><th class="name">Event</th><th class="name">Process</th><th class="name wide">Message</th></tr>
`)
	for _, e := range slices.Backward(r.Events[len(r.Events)-shown:]) {
		kind := map[string]string{
			"out_of_memory": "out of memory", "full_in": "alert: full soon", "flush": "flush", "gpu_lost": "GPU lost", "gpu_back": "GPU back", "idle_server": "idle server",
		}[e.Kind]
		if e.Outcome != "" {
			kind += map[string]string{"hit": ", right", "false": ", false", "acted_on": ", acted on", "undecided": ", undecided"}[string(e.Outcome)]
		}
		w.put(`<tr><td class="name">%s</td><td>%s</td><td class="name mark-text %s">%s</td><td class="name">%s</td><td class="name wide">%s</td></tr>`+"\n",
			time.Time(e.Time).Format("2006-01-02 15:04:05"), fmt.Sprint(e.GPU), classOf(&e), kind, string(e.Process), string(e.Message))
	}
	w.put("</table></div></details>\n")
}
