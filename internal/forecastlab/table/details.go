package main

import (
	"fmt"
	"strings"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
)

// names are the regimes.
func (m *measured) names() []string {
	return each(len(m.rows), func(i int) string { return m.rows[i].regime })
}

// details are the tables of the forecaster's figures at every horizon.
func (m *measured) details() string {
	byHorizon := func(title string, cell func(*backtest.HorizonSummary) string) string {
		return grid(title, horizonNames(), m.names(), func(i int) []string {
			return each(len(forecast.Horizons), func(k int) string { return cell(&m.rows[i].summaries[0].Horizons[k]) })
		})
	}
	filling := []string{"fills", "alarms", "precision", "recall", "lead, s", "error 1–5 min", "held", "error 5–15 min", "held", "called a leak", "of samples"}
	return strings.Join([]string{
		byHorizon("relative error", func(h *backtest.HorizonSummary) string { return share(h.Relative) }),
		byHorizon("within 80 %", func(h *backtest.HorizonSummary) string { return percentage(h.In80.Coverage) }),
		byHorizon("within 95 %", func(h *backtest.HorizonSummary) string { return percentage(h.In95.Coverage) }),
		grid("becoming full, leaks", filling, m.names(), func(i int) []string {
			s := &m.rows[i].summaries[0]
			soon, later := &s.TimeToFull[0], &s.TimeToFull[1]
			return []string{
				whole(s.Alarms.Fills), whole(s.Alarms.Raised), share(s.Alarms.Precision), share(s.Alarms.Recall), whole(s.Alarms.Lead),
				percentage(soon.Error), percentage(soon.Coverage), percentage(later.Error), percentage(later.Coverage),
				fmt.Sprintf("%d of %d", s.Leak.Series, s.Series), percentage(s.Leak.Share),
			}
		}),
	}, "\n")
}
