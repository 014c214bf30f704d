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

// horizonName is "30 s" or "5 min".
func horizonName(k int) string {
	if h := forecast.Horizons[k].Seconds(); h < 60 {
		return fmt.Sprintf("%.0f s", h)
	}
	return fmt.Sprintf("%.0f min", forecast.Horizons[k].Minutes())
}

// regimeTable has the figures of each regime: errors beside those of the best other
// method, what the intervals hold, and the alarms of the monitor.
func (m *measured) regimeTable() string {
	titles := []string{"1 min", "best other", "5 min", "best other", "within 80 %, 1 min", "5 min", "fills", "alarms", "false a day", "precision", "recall", "lead, s"}
	var b strings.Builder
	b.WriteString("| regime | " + strings.Join(titles, " | ") + " |\n|---|" + strings.Repeat("---:|", len(titles)) + "\n")
	for i := range m.rows {
		r := &m.rows[i]
		a, own := &r.monitor.Alarms, r.summaries[0].Horizons
		cells := []string{r.Name}
		for _, k := range []int{minute, fiveMinutes} {
			name, best := r.rival(k)
			cells = append(cells, share(own[k].Relative), share(best)+" "+name)
		}
		cells = append(cells, percentage(own[minute].In80.Coverage), percentage(own[fiveMinutes].In80.Coverage),
			whole(a.Fills), whole(a.Raised), written("%.1f", a.WrongPerDay), share(a.Precision), share(a.Recall), whole(a.Lead))
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}
