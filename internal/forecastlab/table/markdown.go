package main

import (
	"fmt"
	"strings"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
)

func share(f backtest.Figure) string {
	if !f.Known() {
		return "–"
	}
	return fmt.Sprintf("%.2f", f)
}

func percentage(f backtest.Figure) string {
	if !f.Known() {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(f))
}

func whole(f backtest.Figure) string {
	if !f.Known() {
		return "–"
	}
	return fmt.Sprintf("%.0f", f)
}

func horizonName(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.0f s", seconds)
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}

// head is a table's first two lines: words on the left, figures on the right.
func head(first string, others ...string) string {
	return "| " + first + " | " + strings.Join(others, " | ") + " |\n|---|" + strings.Repeat("---:|", len(others)) + "\n"
}

func row(first string, cells []string) string {
	return "| " + first + " | " + strings.Join(cells, " | ") + " |\n"
}

func horizonNames() []string {
	var names []string
	for _, h := range forecast.Horizons {
		names = append(names, horizonName(h.Seconds()))
	}
	return names
}

// regimes is the forecaster's figures on each regime.
func (m *measured) regimes() string {
	var b strings.Builder
	for _, t := range []struct {
		title string
		cell  func(*backtest.HorizonSummary) string
	}{
		{"relative error", func(h *backtest.HorizonSummary) string { return share(h.Relative) }},
		{"within 80 %", func(h *backtest.HorizonSummary) string { return percentage(h.In80.Coverage) }},
		{"within 95 %", func(h *backtest.HorizonSummary) string { return percentage(h.In95.Coverage) }},
	} {
		b.WriteString(head(t.title, horizonNames()...))
		for i, name := range m.regimeNames {
			var cells []string
			for k := range m.summaries[0][i].Horizons {
				cells = append(cells, t.cell(&m.summaries[0][i].Horizons[k]))
			}
			b.WriteString(row(name, cells))
		}
		b.WriteByte('\n')
	}
	b.WriteString(head("becoming full, leaks", "fills", "alarms", "precision", "recall", "lead, s",
		"error 1–5 min", "held", "error 5–15 min", "held", "called a leak", "of samples"))
	for i, name := range m.regimeNames {
		s := &m.summaries[0][i]
		soon, later := &s.TimeToFull[0], &s.TimeToFull[1]
		b.WriteString(row(name, []string{
			whole(s.Alarms.Fills), whole(s.Alarms.Raised), share(s.Alarms.Precision), share(s.Alarms.Recall), whole(s.Alarms.Lead),
			percentage(soon.Error), percentage(soon.Coverage), percentage(later.Error), percentage(later.Coverage),
			fmt.Sprintf("%d of %d", s.Leak.Series, s.Series), percentage(s.Leak.Share),
		}))
	}
	return b.String()
}

// baselines is the relative error of every method, and what it costs.
func (m *measured) baselines() string {
	var b strings.Builder
	for _, k := range []int{2, 4, 6} {
		b.WriteString(head("at "+horizonName(forecast.Horizons[k].Seconds()), m.methods...))
		for i, name := range m.regimeNames {
			var cells []string
			best := 0
			for j := range m.methods {
				if m.summaries[j][i].Horizons[k].Relative < m.summaries[best][i].Horizons[k].Relative {
					best = j
				}
			}
			for j := range m.methods {
				cell := share(m.summaries[j][i].Horizons[k].Relative)
				if cell == share(m.summaries[best][i].Horizons[k].Relative) {
					cell = "**" + cell + "**"
				}
				cells = append(cells, cell)
			}
			b.WriteString(row(name, cells))
		}
		b.WriteByte('\n')
	}
	b.WriteString(head("cost", m.methods...))
	var cells []string
	for _, nanos := range m.nanos {
		cells = append(cells, fmt.Sprintf("%.0f", nanos))
	}
	b.WriteString(row("ns a sample", cells))
	return b.String()
}

// alarms is what every method's alarms are worth.
func (m *measured) alarms() string {
	var b strings.Builder
	b.WriteString(head("precision / recall", m.methods...))
	for i, name := range m.regimeNames {
		if !(m.summaries[0][i].Alarms.Fills > 0) {
			continue
		}
		var cells []string
		for j := range m.methods {
			a := &m.summaries[j][i].Alarms
			cells = append(cells, share(a.Precision)+" / "+share(a.Recall))
		}
		b.WriteString(row(name, cells))
	}
	b.WriteByte('\n')
	b.WriteString(head("wrong alarms an hour", m.methods...))
	for i, name := range m.regimeNames {
		var cells []string
		for j := range m.methods {
			cells = append(cells, share(m.summaries[j][i].Alarms.WrongPerHour))
		}
		b.WriteString(row(name, cells))
	}
	return b.String()
}

// realTables is a recording's figures.
func realTables(path string) (string, error) {
	all, err := recorded(path)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	var names []string
	for _, method := range methods() {
		names = append(names, method.name)
	}
	b.WriteString(head("relative error", names...))
	own := &all[0]
	for k := range own.Horizons {
		if own.Horizons[k].Forecasts == 0 {
			continue
		}
		var cells []string
		for j := range all {
			cells = append(cells, fmt.Sprintf("%.3f", all[j].Horizons[k].Relative))
		}
		b.WriteString(row(horizonName(own.Horizons[k].Seconds), cells))
	}
	b.WriteByte('\n')
	b.WriteString(head("vramscope's intervals", "within 80 %", "within 95 %", "mean width 80 %, GiB", "mean width 95 %, GiB"))
	for _, h := range own.Horizons {
		if h.Forecasts > 0 {
			b.WriteString(row(horizonName(h.Seconds), []string{percentage(h.In80.Coverage), percentage(h.In95.Coverage),
				share(h.In80.MeanWidth / (1 << 30)), share(h.In95.MeanWidth / (1 << 30))}))
		}
	}
	fmt.Fprintf(&b, "\n%d of %d series were ever called a leak, at %s of the samples.\n", own.Leak.Series, own.Series, percentage(own.Leak.Share))
	return b.String(), nil
}
