package main

import "slices"

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
