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

// identity returns the columns and the cells that name a group. The last cell may be long.
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
		return []string{strings.ReplaceAll(strings.Trim(fmt.Sprint(g.GPUs), "[]"), " ", ","), fmt.Sprint(valueOf(g.PID)), cmp.Or(text.Clean(string(g.User)), l.dash)}, text.Clean(g.Name)
	}
}

// table makes a table of groups: name, figures, and the long part of the name.
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
		return cmp.Or(cmp.Compare(valueOf(b.HeldGPUHours), valueOf(a.HeldGPUHours)), cmp.Compare(valueOf(b.UsedGiBHours), valueOf(a.UsedGiBHours)))
	})
	note := "GPU·h held, used and idle"
	if kWh := l.report.Total.EnergyKWh; kWh != nil {
		note += "; all GPUs drew " + Figure(*kWh) + " kWh"
	}
	return l.table("Who used what", note, groups,
		[]Column{{Title: "Held", Short: "HELD"}, {Title: "Used", Short: "USED"}, {Title: "Idle", Short: "IDLE"}, {Title: "GiB·h", Short: "GiB·h"},
			{Title: "Peak", Short: "PEAK", Wide: true}, {Title: "Cached", Short: "CACHE", Wide: true}, {Title: "kWh", Short: "kWh"}, {Title: "OOM", Short: "OOM"},
			{Title: "Rescued", Short: "RESC", Wide: true}, {Title: "Jobs", Short: "JOBS", Wide: true}},
		func(g *schema.ReportGroup) []string {
			var cached *float64
			if g.CachedGiBHours != nil {
				cached = share(*g.CachedGiBHours, valueOf(g.UsedGiBHours))
			}
			rescued := l.dash
			if n := g.Failures.Rescued; n > 0 || g.Failures.OutOfMemory != nil { // only probes report these
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

// idleServers names the servers that held memory and served nothing, the newest last.
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
	groups := slices.DeleteFunc(slices.Clone(l.report.Groups), func(g schema.ReportGroup) bool { return valueOf(g.WastedGiBHours) == 0 })
	t := l.table("Wasted", "GiB·h used while idle, or cached or fragmented", groups,
		[]Column{{Title: "Wasted", Short: "WASTED"}, {Title: "Idle", Short: "IDLE"}, {Title: "Cached", Short: "CACHE"}, {Title: "Fragmented", Short: "FRAG"}, {Title: "Used", Short: "USED", Wide: true}},
		func(g *schema.ReportGroup) []string {
			return []string{l.figure(g.WastedGiBHours), l.figure(g.IdleGiBHours), l.figure(g.CachedGiBHours), l.figure(g.FragmentedGiBHours), l.figure(g.UsedGiBHours)}
		})
	for i := range t.Rows {
		largest, wasted := valueOf(groups[0].WastedGiBHours), valueOf(groups[i].WastedGiBHours)
		idle := min(valueOf(groups[i].IdleGiBHours), wasted)
		t.Rows[i].Bars = []Bar{{"idle", idle / largest}, {"cached", (wasted - idle) / largest}}
	}
	return t
}

// failing returns the table of groups that ran out of memory or whose allocator tried again.
func (l *layouter) failing() Table {
	groups := slices.DeleteFunc(slices.Clone(l.report.Groups), func(g schema.ReportGroup) bool {
		return valueOf(g.Failures.OutOfMemory) == 0 && valueOf(g.Failures.Retries) == 0
	})
	sorted.Stable(groups, func(a, b schema.ReportGroup) int {
		return cmp.Or(cmp.Compare(valueOf(b.Failures.OutOfMemory), valueOf(a.Failures.OutOfMemory)), cmp.Compare(valueOf(b.Failures.Retries), valueOf(a.Failures.Retries)))
	})
	return l.table("Out of memory", "errors (OOM) and alloc retries, in all and per hour", groups,
		[]Column{{Title: "OOM", Short: "OOM"}, {Title: "per h", Short: "OOM/H"}, {Title: "Retries", Short: "RETRY"}, {Title: "per h", Short: "RETRY/H", Wide: true}, {Title: "Peak", Short: "PEAK", Wide: true}},
		func(g *schema.ReportGroup) []string {
			f := &g.Failures
			return []string{counted(l, f.OutOfMemory), l.figure(f.OutOfMemoryPerHour), counted(l, f.Retries), l.figure(f.RetriesPerHour), l.bytes(g.PeakBytes)}
		})
}

func (l *layouter) throughput() Table {
	groups := slices.DeleteFunc(slices.Clone(l.report.Groups), func(g schema.ReportGroup) bool { return g.StepsPerSecond == nil })
	sorted.Stable(groups, func(a, b schema.ReportGroup) int { return cmp.Compare(*b.StepsPerSecond, *a.StepsPerSecond) })
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
		value := func(v *float64, sign string) string {
			if v == nil {
				return l.dash
			}
			if *v > 0 {
				return sign + Figure(*v) + unit
			}
			return Figure(*v) + unit
		}
		beyond := "too few hours to tell"
		if line.BeyondNoise != nil {
			beyond = map[bool]string{true: "yes", false: "no"}[*line.BeyondNoise]
		}
		t.Rows = append(t.Rows, Row{Cells: []string{text.Clean(line.Name), value(line.First, ""), value(line.Second, ""), value(line.Difference, "+"), value(line.Noise, "±"), beyond}})
	}
	return t
}

// forecaster lists how often alerts that a GPU will be full came true.
func (l *layouter) forecaster() List {
	f := &l.report.Forecaster
	list := List{Title: "Forecaster", Note: "alerts that a GPU will be full", Items: []Item{{"alerts", fmt.Sprint(f.Alerts)}}}
	add := func(name string, n int) {
		if n > 0 {
			list.Items = append(list.Items, Item{name, fmt.Sprint(n)})
		}
	}
	add("right: full within 10 min", f.Hits)
	add("false", f.False)
	add("acted on, or the process ended", f.ActedOn)
	add("undecided: the recording does not show it", f.Undecided)
	list.Items = append(list.Items, Item{"times that memory ran out on a GPU", counted(l, f.Fills)})
	add("missed: no alert before", valueOf(f.Missed))
	add("sudden: within 1 min of a start", valueOf(f.Sudden))
	if f.MedianLead != nil {
		list.Items = append(list.Items, Item{"median lead", l.seconds(*f.MedianLead)})
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
			percent := 100 * float64(s.StayedBytes) / float64(s.FreedBytes)
			value = fmt.Sprintf("%s, %s (%d)", l.percent(&percent), s.StayedBytes, s.Flushes)
		}
		list.Items = append(list.Items, Item{"still free after " + spell(s.AfterSeconds), value})
	}
	if f.NotMeasured > 0 {
		list.Items = append(list.Items, Item{"not measured", fmt.Sprint(f.NotMeasured)})
	}
	return list
}
