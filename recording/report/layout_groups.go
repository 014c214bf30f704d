package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"vramscope/internal/sorted"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// identity returns the columns and the cells that name a group. The last cell may be long, so table
// puts it at the end of the row.
func (l *layouter) identity() (columns []Column, last Column, cells func(*schema.ReportGroup) (names []string, last string)) {
	if l.report.By != "gpu" {
		title := strings.ToUpper(l.report.By[:1]) + l.report.By[1:]
		return []Column{{Title: "Processes", Short: "PROCS"}}, Column{Title: title, Short: strings.ToUpper(title), Name: true},
			func(g *schema.ReportGroup) ([]string, string) {
				return []string{fmt.Sprint(g.Processes)}, text.Clean(g.Name)
			}
	}
	columns = []Column{{Title: "GPU", Short: "GPU"}, {Title: "PID", Short: "PID", Wide: true}, {Title: "User", Short: "USER", Name: true}}
	return columns, Column{Title: "Command", Short: "COMMAND", Name: true}, func(g *schema.ReportGroup) ([]string, string) {
		return []string{strings.ReplaceAll(strings.Trim(fmt.Sprint(g.GPUs), "[]"), " ", ","), fmt.Sprint(g.PID.Or(0)), cmp.Or(text.Clean(string(g.User)), l.dash)}, text.Clean(g.Name)
	}
}

func (l *layouter) table(title, note string, groups []schema.ReportGroup, figures []Column, cells func(*schema.ReportGroup) []string) Table {
	columns, last, identity := l.identity()
	t := Table{Title: title, Note: note, Columns: append(append(columns, figures...), last)}
	for i := range groups[:min(len(groups), l.most)] {
		names, name := identity(&groups[i])
		t.Rows = append(t.Rows, Row{Cells: append(append(names, cells(&groups[i])...), name)})
	}
	if more := len(groups) - l.most; more > 0 {
		t.Note += fmt.Sprintf("; the first %d of %d", l.most, len(groups)+l.report.LeftOut)
	}
	return t
}

func (l *layouter) users() Table {
	groups := slices.Clone(l.report.Groups)
	sorted.Stable(groups, func(a, b schema.ReportGroup) int {
		return cmp.Or(cmp.Compare(b.HeldGPUHours.Or(0), a.HeldGPUHours.Or(0)), cmp.Compare(b.UsedGiBHours.Or(0), a.UsedGiBHours.Or(0)))
	})
	note := "GPU·h held, used and idle"
	if kWh, known := l.report.Total.EnergyKWh.Value(); known {
		note += "; all GPUs drew " + Figure(kWh) + " kWh"
	}
	return l.table("Who used what", note, groups,
		[]Column{{Title: "Held", Short: "HELD"}, {Title: "Used", Short: "USED"}, {Title: "Idle", Short: "IDLE"}, {Title: "GiB·h", Short: "GiB·h"},
			{Title: "Peak", Short: "PEAK", Wide: true}, {Title: "Cached", Short: "CACHE", Wide: true}, {Title: "kWh", Short: "kWh"}, {Title: "OOM", Short: "OOM"},
			{Title: "Rescued", Short: "RESC", Wide: true}, {Title: "Jobs", Short: "JOBS", Wide: true}},
		func(g *schema.ReportGroup) []string {
			var cached snapshot.Float
			if g.CachedGiBHours.Known() {
				cached = share(g.CachedGiBHours.Or(0), g.UsedGiBHours.Or(0))
			}
			rescued := l.dash
			if n := g.Failures.Rescued; n > 0 || g.Failures.OutOfMemory.Known() { // rescues are known only where a probe watches
				rescued = fmt.Sprint(n)
			}
			return []string{l.figure(g.HeldGPUHours), l.figure(g.BusyGPUHours), l.figure(g.IdleGPUHours), l.figure(g.UsedGiBHours), l.bytes(g.PeakBytes),
				l.percent(cached), l.figure(g.EnergyKWh), counted(l, g.Failures.OutOfMemory), rescued, counted(l, g.Jobs)}
		})
}

func (l *layouter) bytes(v snapshot.Bytes) string {
	if amount, ok := v.Value(); ok {
		return amount.String()
	}
	return l.dash
}

// idleServers lists the newest events of servers that held memory and served nothing, newest last.
func (l *layouter) idleServers() List {
	list := List{Title: "Idle servers", Note: "they held memory and served nothing, as they reported"}
	for i := range l.report.Events {
		if e := &l.report.Events[i]; e.Kind == string(snapshot.EventIdleServer) {
			list.Items = append(list.Items, Item{fmt.Sprintf("%s GPU %d", time.Time(e.Time).Format("2006-01-02 15:04"), e.GPU), string(e.Message)})
		}
	}
	list.Items = list.Items[max(len(list.Items)-l.most, 0):]
	return list
}

func (l *layouter) wasters() Table {
	groups := slices.DeleteFunc(slices.Clone(l.report.Groups), func(g schema.ReportGroup) bool { return g.WastedGiBHours.Or(0) == 0 })
	t := l.table("Wasted", "GiB·h used while idle, or cached or fragmented", groups,
		[]Column{{Title: "Wasted", Short: "WASTED"}, {Title: "Idle", Short: "IDLE"}, {Title: "Cached", Short: "CACHE"}, {Title: "Fragmented", Short: "FRAG"}, {Title: "Used", Short: "USED", Wide: true}},
		func(g *schema.ReportGroup) []string {
			return []string{l.figure(g.WastedGiBHours), l.figure(g.IdleGiBHours), l.figure(g.CachedGiBHours), l.figure(g.FragmentedGiBHours), l.figure(g.UsedGiBHours)}
		})
	for i := range t.Rows {
		largest, wasted := groups[0].WastedGiBHours.Or(0), groups[i].WastedGiBHours.Or(0)
		idle := min(groups[i].IdleGiBHours.Or(0), wasted)
		t.Rows[i].Bars = []Bar{{"idle", idle / largest}, {"cached", (wasted - idle) / largest}}
	}
	return t
}

func (l *layouter) failing() Table {
	groups := slices.DeleteFunc(slices.Clone(l.report.Groups), func(g schema.ReportGroup) bool {
		return g.Failures.OutOfMemory.Or(0) == 0 && g.Failures.Retries.Or(0) == 0
	})
	sorted.Stable(groups, func(a, b schema.ReportGroup) int {
		return cmp.Or(cmp.Compare(b.Failures.OutOfMemory.Or(0), a.Failures.OutOfMemory.Or(0)), cmp.Compare(b.Failures.Retries.Or(0), a.Failures.Retries.Or(0)))
	})
	return l.table("Out of memory", "errors (OOM) and alloc retries, in all and per hour", groups,
		[]Column{{Title: "OOM", Short: "OOM"}, {Title: "per h", Short: "OOM/H"}, {Title: "Retries", Short: "RETRY"}, {Title: "per h", Short: "RETRY/H", Wide: true}, {Title: "Peak", Short: "PEAK", Wide: true}},
		func(g *schema.ReportGroup) []string {
			f := &g.Failures
			return []string{counted(l, f.OutOfMemory), l.figure(f.OutOfMemoryPerHour), counted(l, f.Retries), l.figure(f.RetriesPerHour), l.bytes(g.PeakBytes)}
		})
}

func (l *layouter) throughput() Table {
	groups := slices.DeleteFunc(slices.Clone(l.report.Groups), func(g schema.ReportGroup) bool { return !g.StepsPerSecond.Known() })
	sorted.Stable(groups, func(a, b schema.ReportGroup) int { return cmp.Compare(b.StepsPerSecond.Or(0), a.StepsPerSecond.Or(0)) })
	return l.table("Throughput", "steps per second of a process, where a probe counts them", groups,
		[]Column{{Title: "Steps/s", Short: "STEP/S"}}, func(g *schema.ReportGroup) []string { return []string{l.figure(g.StepsPerSecond)} })
}

func (l *layouter) comparison() Table {
	c := l.report.Comparison
	t := Table{Title: "Compared", Note: "with " + PeriodText(&c.First) + ", " + RecordedText(&c.First), Columns: []Column{
		{Title: "Figure", Short: "FIGURE", Name: true}, {Title: "Before", Short: "BEFORE"}, {Title: "Now", Short: "NOW"}, {Title: "Difference", Short: "DIFF"},
		{Title: "Noise", Short: "NOISE", Wide: true}, {Title: "Beyond noise", Short: "BEYOND_NOISE", Name: true},
	}}
	for i := range c.Lines {
		line := &c.Lines[i]
		unit := map[string]string{"percent": "%", "per_hour": "/h", "per_second": "/s"}[line.Unit]
		value := func(v snapshot.Float, sign string) string {
			if v.Or(0) <= 0 {
				sign = ""
			}
			return known(l, v, func(v float64) string { return sign + Figure(v) + unit })
		}
		beyond := "too few hours to tell"
		if line.BeyondNoise != nil {
			beyond = map[bool]string{true: "yes", false: "no"}[*line.BeyondNoise]
		}
		t.Rows = append(t.Rows, Row{Cells: []string{text.Clean(line.Name), value(line.First, ""), value(line.Second, ""), value(line.Difference, "+"), value(line.Noise, "±"), beyond}})
	}
	return t
}

func (l *layouter) forecaster() List {
	f := &l.report.Forecaster
	list := List{Title: "Forecaster", Note: "alerts that a GPU will be full", Items: []Item{{"alerts", fmt.Sprint(f.Alerts)}}}
	add := func(name string, n int) {
		if n > 0 {
			list.Items = append(list.Items, Item{name, fmt.Sprint(n)})
		}
	}
	add("right: full within 30 min", f.Hits)
	add("false", f.False)
	add("acted on, or the process ended", f.ActedOn)
	add("undecided: the recording does not show it", f.Undecided)
	list.Items = append(list.Items, Item{"times that memory ran out on a GPU", counted(l, f.Fills)})
	add("missed: no alert before", f.Missed.Or(0))
	add("sudden: within 1 min of a start", f.Sudden.Or(0))
	if lead, known := f.MedianLead.Value(); known {
		list.Items = append(list.Items, Item{"median lead", l.seconds(lead)})
	}
	if f.IntervalOf > 0 {
		list.Items = append(list.Items, Item{"time to full: median error", l.percent(f.MedianError)},
			Item{"time to full: 80 % interval was right", fmt.Sprintf("%d of %d", f.IntervalHeld, f.IntervalOf)})
	}
	for _, k := range f.OtherAlerts {
		list.Items = append(list.Items, Item{"other alerts: " + text.Clean(k.Kind), fmt.Sprint(k.Count)})
	}
	return list
}

func (l *layouter) seconds(v float64) string {
	d := time.Duration(v * float64(time.Second)).Round(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
}

func (l *layouter) flushes() List {
	f := &l.report.Flushes
	list := List{Title: "Flushes", Items: []Item{{"flushes", fmt.Sprint(f.Count)}}}
	if f.Count == 0 {
		return list
	}
	list.Items = append(list.Items, Item{"freed", l.bytes(f.FreedBytes)})
	for i := range f.StayedFree {
		s := &f.StayedFree[i]
		value := l.dash
		if s.FreedBytes > 0 {
			value = fmt.Sprintf("%s, %s (%d)", l.percent(share(float64(s.StayedBytes), float64(s.FreedBytes))), s.StayedBytes, s.Flushes)
		}
		list.Items = append(list.Items, Item{"still free after " + spell(s.AfterSeconds), value})
	}
	if f.NotMeasured > 0 {
		list.Items = append(list.Items, Item{"not measured", fmt.Sprint(f.NotMeasured)})
	}
	return list
}
