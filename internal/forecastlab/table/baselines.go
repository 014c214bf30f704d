package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vramscope/forecast/backtest"
)

// relative is a table of relative errors at a horizon, the least in bold.
func (m *measured) relative(k int) string {
	return grid("at "+horizonNames()[k], m.methods, m.names(), func(i int) []string {
		return boldest(share, each(len(m.methods), func(j int) backtest.Figure { return m.rows[i].summaries[j].Horizons[k].Relative }))
	})
}

// shown are the horizons of the document: 10 s, 1, 5 and 15 minutes.
var shown = [...]int{0, minute, 4, 6}

// shownNames are their names.
func shownNames() []string {
	return each(len(shown), func(i int) string { return horizonNames()[shown[i]] })
}

// overallTable is the geometric mean of all regimes, by method and horizon.
func (m *measured) overallTable() string {
	return grid("all regimes", m.methods, shownNames(), func(i int) []string {
		return boldest(share, each(len(m.methods), func(j int) backtest.Figure { return m.overall(j, shown[i]) }))
	})
}

// better names the regimes in which the best of some methods is better than the first
// by more than a twentieth, a minute and five minutes ahead.
func (m *measured) better(others []int) string {
	text := ""
	for _, k := range []int{minute, 4} {
		var found []string
		for i := range m.rows {
			all := m.rows[i].summaries
			at := func(j int) backtest.Figure { return all[j].Horizons[k].Relative }
			best := slices.MinFunc(others, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
			if at(0) > 1.05*at(best) {
				found = append(found, fmt.Sprintf("%s (%s %s, not %s)", m.rows[i].regime, m.methods[best], share(at(best)), share(at(0))))
			}
		}
		text += fmt.Sprintf("Better than vramscope by a twentieth, %s ahead: %s.\n", horizonNames()[k], cmp.Or(strings.Join(found, ", "), "none"))
	}
	return text
}

// baselineTable is the errors of all methods, and where another one is better.
func (m *measured) baselineTable() string {
	var others []int
	for j := range m.methods[1:] {
		others = append(others, 1+j)
	}
	return m.overallTable() + "\n" + m.better(others)
}

// regimeTable is what there is to know of each regime: errors beside those of the best
// other method, what the intervals hold, and the alarms of the monitor.
func (m *measured) regimeTable() string {
	titles := []string{"1 min", "best other", "5 min", "best other", "within 80 %, 1 min", "5 min", "fills", "alarms", "precision", "recall", "lead, s", "false a day"}
	return grid("", titles, m.names(), func(i int) []string {
		all, a := m.rows[i].summaries, &m.rows[i].monitor.Alarms
		var cells []string
		for _, k := range []int{minute, 4} {
			best := 1
			for j := range all[1:] {
				if all[1+j].Horizons[k].Relative < all[best].Horizons[k].Relative {
					best = 1 + j
				}
			}
			cells = append(cells, boldest(share, []backtest.Figure{all[0].Horizons[k].Relative, all[best].Horizons[k].Relative})...)
			cells[len(cells)-1] += " " + m.methods[best]
		}
		return append(cells, percentage(all[0].Horizons[minute].In80.Coverage), percentage(all[0].Horizons[4].In80.Coverage),
			whole(a.Fills), whole(a.Raised), share(a.Precision), share(a.Recall), whole(a.Lead), written("%.1f", a.WrongPerDay))
	})
}

// alarms is what every method's alarms are worth.
func (m *measured) alarms() string {
	return grid("precision / recall", m.methods, m.names(), func(i int) []string {
		all := m.rows[i].summaries
		if !(all[0].Alarms.Fills > 0) {
			return nil
		}
		return each(len(m.methods), func(j int) string { return share(all[j].Alarms.Precision) + " / " + share(all[j].Alarms.Recall) })
	}) + "\n" + grid("wrong alarms an hour", m.methods, m.names(), func(i int) []string {
		return each(len(m.methods), func(j int) string { return share(m.rows[i].summaries[j].Alarms.WrongPerHour) })
	})
}

// boldest writes figures, the least in bold.
func boldest(write format, figures []backtest.Figure) []string {
	least := unknown
	for _, v := range figures {
		if v.Known() && !(v >= least) {
			least = v
		}
	}
	return each(len(figures), func(i int) string {
		if cell := write(figures[i]); cell != write(least) {
			return cell
		}
		return "**" + write(least) + "**"
	})
}
