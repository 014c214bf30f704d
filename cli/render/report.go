package render

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	evaluation "vramscope/recording/report"
	"vramscope/schema"
)

// reportRows limits the rows of a table of groups.
const reportRows = 10

// Report returns a report for a terminal:
//
//	h100-03  SIMULATED  2026-11-20 12:00 to 2026-11-21 12:00 UTC
//	recorded 21 h 40 min of 24 h
//
//	MEMORY  time-weighted, per cent of the capacity
//	GPU  USED  ALLOC  CACHE  …
func Report(r *schema.Report, signs Signs, width int) string {
	l := evaluation.Lay(r, signs.Dash, reportRows)
	var head []string
	if r.Host != "" {
		head = append(head, text.Clean(string(r.Host)))
	}
	head = append(append(head, simulated(r.Simulated)...), l.Period)
	lines := []string{strings.Join(head, "  "), l.Recorded}
	for i := range l.Tables {
		t := &l.Tables[i]
		lines = append(lines, "", heading(t.Title, t.Note))
		if len(t.Rows) == 0 {
			lines = append(lines, "none")
			continue
		}
		lines = append(lines, reportGrid(t, width).lines()...)
	}
	for _, list := range l.Lists {
		lines = append(lines, "", heading(list.Title, list.Note))
		g := grid{columns: []column{{"", false, 0}, {"", true, 0}}}
		for _, item := range list.Items {
			g.rows = append(g.rows, []string{item.Name, item.Value})
		}
		lines = append(lines, g.lines()[1:]...)
	}
	out := cutLines(lines, width, signs.Ellipsis)
	if signs.Dash == "-" {
		out = strings.NewReplacer("±", "+-", "·", "*", "–", "-").Replace(out)
	}
	return out
}

func heading(title, note string) string {
	if note == "" {
		return strings.ToUpper(title)
	}
	return strings.ToUpper(title) + "  " + note
}

// reportGrid returns a table as text. It drops columns with Wide set, from the right, until the last
// column fits.
func reportGrid(t *evaluation.Table, width int) *grid {
	const least = 18
	g := &grid{}
	for _, c := range t.Columns {
		g.columns = append(g.columns, column{c.Short, !c.Name, 0})
	}
	for i := range t.Rows {
		cells := make([]string, len(t.Rows[i].Cells))
		for k, cell := range t.Rows[i].Cells {
			if cells[k] = cell; k < len(cells)-1 {
				cells[k] = oneWord(cell)
			}
		}
		g.rows = append(g.rows, cells)
	}
	width = cmp.Or(width, 80) // 0: not a terminal
	for i := len(t.Columns) - 1; i >= 0; i-- {
		c := &t.Columns[i]
		room := least
		if last := &t.Columns[len(t.Columns)-1]; !last.Name {
			room = len(last.Short)
		}
		if c.Wide && g.start()+room > width {
			g.drop(c.Short)
		}
	}
	return g
}

// ReportCSV returns a line for each group of a report, with the names of the JSON document.
func ReportCSV(r *schema.Report) string {
	records := [][]string{{"from", "to", "by", "name", "pid", "user", "held_gpu_hours", "used_gpu_hours", "idle_gpu_hours", "used_gib_hours", "cached_gib_hours",
		"peak_bytes", "energy_kwh", "out_of_memory_count", "rescued_count", "jobs", "processes"}}
	for i := range r.Groups {
		g := &r.Groups[i]
		record := []string{csvTime(time.Time(r.Period.From)), csvTime(time.Time(r.Period.To)), r.By, g.Name, csvOptional(g.PID), string(g.User),
			csvOptional(g.HeldGPUHours), csvOptional(g.BusyGPUHours), csvOptional(g.IdleGPUHours), csvOptional(g.UsedGiBHours), csvOptional(g.CachedGiBHours),
			csvOptional(quantity.As[int64](g.PeakBytes)), csvOptional(g.EnergyKWh), csvOptional(g.Failures.OutOfMemory), fmt.Sprint(g.Failures.Rescued), csvOptional(g.Jobs), fmt.Sprint(g.Processes)}
		for k := range record {
			record[k] = text.SpreadsheetCell(record[k])
		}
		records = append(records, record)
	}
	var out strings.Builder
	_ = csv.NewWriter(&out).WriteAll(records) // a Builder returns no error
	return out.String()
}

func csvOptional[T int | int64 | float64](v quantity.Optional[T]) string {
	if value, known := v.Value(); known {
		return fmt.Sprint(value)
	}
	return ""
}

func ReportMarkdown(r *schema.Report) string {
	l := evaluation.Lay(r, "–", reportRows)
	var b strings.Builder
	b.WriteString("# GPU memory")
	if r.Host != "" {
		b.WriteString(" of " + markdownText(string(r.Host)))
	}
	if r.Simulated {
		b.WriteString(" (SIMULATED)")
	}
	b.WriteString("\n\n" + l.Period + "; " + l.Recorded + "\n")
	for i := range l.Tables {
		t := &l.Tables[i]
		b.WriteString("\n## " + t.Title + "\n\n" + strings.ToUpper(t.Note[:1]) + t.Note[1:] + ".\n\n")
		var titles, rules []string
		for _, c := range t.Columns {
			titles = append(titles, c.Title)
			rules = append(rules, map[bool]string{true: "---", false: "--:"}[c.Name])
		}
		markdownRow(&b, titles)
		markdownRow(&b, rules)
		for k := range t.Rows {
			cells := make([]string, len(t.Rows[k].Cells))
			for c, cell := range t.Rows[k].Cells {
				cells[c] = markdownText(cell)
			}
			markdownRow(&b, cells)
		}
	}
	for _, list := range l.Lists {
		b.WriteString("\n## " + list.Title + "\n\n")
		for _, item := range list.Items {
			b.WriteString("- " + markdownText(item.Name) + ": " + markdownText(item.Value) + "\n")
		}
	}
	return b.String()
}

func markdownRow(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// markdownText escapes the characters that have a meaning in Markdown.
func markdownText(s string) string {
	var b strings.Builder
	for _, r := range text.Clean(s) {
		if strings.ContainsRune("\\`*_{}[]<>()#!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
