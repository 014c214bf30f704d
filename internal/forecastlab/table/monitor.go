package main

import (
	"fmt"
	"slices"

	"vramscope/forecast/backtest"
)

// monitorGates are those of the alarms that people see.
func (m *measured) monitorGates() []gate {
	precision := gate{what: "monitor: precision of the alarm", aim: "≥ .95"}
	recall := gate{what: "monitor: recall of the alarm", aim: "≥ .95 (stairs of 10 min .80, epochs and peaks .75)"}
	none := gate{what: "monitor: alarms where nothing fills the GPU", aim: "none"}
	young := gate{what: "monitor: alarms from less than a minute's past", aim: "none"}
	for _, name := range slices.Concat(filling, ramps, growth) {
		a := &m.of(name).monitor.Alarms
		if a.Raised > 0 {
			precision.atLeast(name, a.Precision, 0.95, share)
		}
		recall.atLeast(name, a.Recall, recallOf(name), share)
	}
	for _, name := range harmless {
		none.most(name, m.of(name).monitor.Alarms.Raised, 0, whole)
	}
	sum := 0
	for i := range m.rows {
		sum += m.rows[i].young
	}
	young.most("all", figureOf(sum), 0, whole)
	return []gate{precision, recall, none, young}
}

// alarmTable are the alarms that people see, by regime.
func (m *measured) alarmTable() string {
	titles := []string{"fills", "raised", "false a day", "lead, s", "precision", "recall"}
	return m.alarmLine() + grid("alarms of the monitor", titles, m.names(), func(i int) []string {
		a := &m.rows[i].monitor.Alarms
		return []string{whole(a.Fills), whole(a.Raised), written("%.1f", a.WrongPerDay), whole(a.Lead), share(a.Precision), share(a.Recall)}
	})
}

// alarmLine are those of all regimes.
func (m *measured) alarmLine() string {
	var fills, raised, wrong, days backtest.Figure
	var leads []float64
	for i := range m.rows {
		s := &m.rows[i].monitor
		fills, raised, wrong = fills+s.Alarms.Fills, raised+s.Alarms.Raised, wrong+s.Alarms.Wrong
		days += backtest.Figure(s.Seconds / 86_400)
		if s.Alarms.Lead.Known() {
			leads = append(leads, float64(s.Alarms.Lead))
		}
	}
	lead := unknown
	if slices.Sort(leads); len(leads) > 0 {
		lead = backtest.Figure(leads[len(leads)/2])
	}
	return fmt.Sprintf("The monitor's alarms, of all regimes: %.0f raised, %.0f wrong, %.1f a day; %.0f fills; the median regime's lead %s s.\n\n",
		raised, wrong, wrong/days, fills, whole(lead))
}
