package main

import (
	"fmt"
	"math"
	"strings"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
)

// written formats a figure; an unknown one is a dash.
func written(format string, f backtest.Figure) string {
	if !f.Known() {
		return "–"
	}
	return fmt.Sprintf(format, f)
}

var unknown = backtest.Figure(math.NaN())

func share(f backtest.Figure) string      { return written("%.2f", f) }
func percentage(f backtest.Figure) string { return written("%.1f %%", 100*f) }
func whole(f backtest.Figure) string      { return written("%.0f", f) }

func horizonName(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.0f s", seconds)
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}

func horizonNames() []string {
	return each(len(forecast.Horizons), func(k int) string { return horizonName(forecast.Horizons[k].Seconds()) })
}

// shown are the horizons that have a table of their own: 1, 5 and 15 minutes.
var shown = [...]int{2, 4, 6}

// each is the n cells of a row.
func each(n int, cell func(i int) string) []string {
	cells := make([]string, n)
	for i := range cells {
		cells[i] = cell(i)
	}
	return cells
}

// grid is a table: words left, figures right. A row without cells is left out.
func grid(corner string, titles, rows []string, cells func(i int) []string) string {
	var b strings.Builder
	b.WriteString("| " + corner + " | " + strings.Join(titles, " | ") + " |\n|---|" + strings.Repeat("---:|", len(titles)) + "\n")
	for i, name := range rows {
		if row := cells(i); row != nil {
			b.WriteString("| " + name + " | " + strings.Join(row, " | ") + " |\n")
		}
	}
	return b.String()
}

// regimes are the tables of the forecaster's figures on each regime.
func (m *measured) regimes() string {
	byHorizon := func(title string, cell func(*backtest.HorizonSummary) string) string {
		return grid(title, horizonNames(), m.regimeNames, func(i int) []string {
			return each(len(forecast.Horizons), func(k int) string { return cell(&m.summaries[i][0].Horizons[k]) })
		})
	}
	filling := []string{"fills", "alarms", "precision", "recall", "lead, s", "error 1–5 min", "held", "error 5–15 min", "held", "called a leak", "of samples"}
	return strings.Join([]string{
		byHorizon("relative error", func(h *backtest.HorizonSummary) string { return share(h.Relative) }),
		byHorizon("within 80 %", func(h *backtest.HorizonSummary) string { return percentage(h.In80.Coverage) }),
		byHorizon("within 95 %", func(h *backtest.HorizonSummary) string { return percentage(h.In95.Coverage) }),
		grid("becoming full, leaks", filling, m.regimeNames, func(i int) []string {
			s := &m.summaries[i][0]
			soon, later := &s.TimeToFull[0], &s.TimeToFull[1]
			return []string{
				whole(s.Alarms.Fills), whole(s.Alarms.Raised), share(s.Alarms.Precision), share(s.Alarms.Recall), whole(s.Alarms.Lead),
				percentage(soon.Error), percentage(soon.Coverage), percentage(later.Error), percentage(later.Coverage),
				fmt.Sprintf("%d of %d", s.Leak.Series, s.Series), percentage(s.Leak.Share),
			}
		}),
	}, "\n")
}

// relative is a table of relative errors at a horizon, the least in bold.
func (f *figures) relative(k int) string {
	return grid("at "+horizonName(forecast.Horizons[k].Seconds()), f.methods, f.regimeNames, func(i int) []string {
		all := f.summaries[i]
		least := all[0].Horizons[k].Relative
		for j := range all {
			least = min(least, all[j].Horizons[k].Relative)
		}
		return each(len(all), func(j int) string {
			cell := share(all[j].Horizons[k].Relative)
			if cell == share(least) {
				return "**" + cell + "**"
			}
			return cell
		})
	})
}

// baselines is the relative error of every method, and what it costs.
func (m *measured) baselines() string {
	var b strings.Builder
	for _, k := range shown {
		b.WriteString(m.relative(k) + "\n")
	}
	b.WriteString(grid("cost", m.methods, []string{"ns a sample"}, func(int) []string {
		return each(len(m.nanos), func(j int) string { return fmt.Sprintf("%.0f", m.nanos[j]) })
	}))
	return b.String()
}

// alarms is what every method's alarms are worth.
func (m *measured) alarms() string {
	return grid("precision / recall", m.methods, m.regimeNames, func(i int) []string {
		if !(m.summaries[i][0].Alarms.Fills > 0) {
			return nil
		}
		return each(len(m.methods), func(j int) string {
			return pair(share, m.summaries[i][j].Alarms.Precision, m.summaries[i][j].Alarms.Recall)
		})
	}) + "\n" + grid("wrong alarms an hour", m.methods, m.regimeNames, func(i int) []string {
		return each(len(m.methods), func(j int) string { return share(m.summaries[i][j].Alarms.WrongPerHour) })
	})
}

// recordingErrors is a table of a figure of every method at the horizons scored.
func recordingErrors(corner string, titles []string, all []backtest.Summary, figure func(*backtest.HorizonSummary) backtest.Figure, more func(k int) []string) string {
	return grid(corner, titles, horizonNames(), func(k int) []string {
		if all[0].Horizons[k].Forecasts == 0 {
			return nil
		}
		return append(each(len(all), func(j int) string { return fmt.Sprintf("%.3f", figure(&all[j].Horizons[k])) }), more(k)...)
	})
}

// realTables is a recording's figures.
func realTables(path string) (string, error) {
	trace, err := readRecording(path)
	if err != nil {
		return "", err
	}
	var all []backtest.Summary
	var names []string
	for _, method := range methods() {
		sum, err := scored(trace.Series, method.make)
		if err != nil {
			return "", err
		}
		all, names = append(all, sum), append(names, method.name)
	}
	own := &all[0]
	errors := recordingErrors("relative error", names, all, relativeOf, func(int) []string { return nil })
	intervals := []string{"within 80 %", "within 95 %", "mean width 80 %, GiB", "mean width 95 %, GiB"}
	return errors + "\n" + grid("vramscope's intervals", intervals, horizonNames(), func(k int) []string {
		h := &own.Horizons[k]
		if h.Forecasts == 0 {
			return nil
		}
		return []string{percentage(h.In80.Coverage), percentage(h.In95.Coverage), gibibytes(h.In80.MeanWidth), gibibytes(h.In95.MeanWidth)}
	}) + fmt.Sprintf("\n%d of %d series were ever called a leak, at %s of the samples.\n", own.Leak.Series, own.Series, percentage(own.Leak.Share)), nil
}

func relativeOf(h *backtest.HorizonSummary) backtest.Figure { return h.Relative }
