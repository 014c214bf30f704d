package main

import "vramscope/forecast/backtest"

// relative is a table of relative errors at a horizon, the least in bold.
func (m *measured) relative(k int) string {
	return grid("at "+horizonNames()[k], m.methods, m.names(), func(i int) []string {
		return boldest(share, each(len(m.methods), func(j int) backtest.Figure { return m.rows[i].summaries[j].Horizons[k].Relative }))
	})
}

// overallTable is the geometric mean of all regimes, by method and horizon.
func (m *measured) overallTable() string {
	return grid("all regimes", m.methods, horizonNames(), func(k int) []string {
		return boldest(share, each(len(m.methods), func(j int) backtest.Figure { return m.overall(j, k) }))
	})
}

// baselines are the relative errors of every method.
func (m *measured) baselines() string { return m.overallTable() + "\n" + m.relative(minute) }

// alarms is what every method's alarms are worth.
func (m *measured) alarms() string {
	return grid("precision / recall", m.methods, m.names(), func(i int) []string {
		all := m.rows[i].summaries
		if !(all[0].Alarms.Fills > 0) {
			return nil
		}
		return each(len(m.methods), func(j int) string { return pair(share, all[j].Alarms.Precision, all[j].Alarms.Recall) })
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
