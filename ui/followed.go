package ui

import (
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/graph"
	"vramscope/ui/table"
)

// graphAbout is the graph of a series at the shown moment.
func graphAbout(st *state, lk *cell.Appearance, key snapshot.SeriesKey) graph.Graph {
	g := graph.Graph{
		Appearance: lk, History: st.history, Window: st.window,
		At: st.now, Running: !st.frozen && st.past.IsZero(),
		Subject: graph.SubjectOf(st.shown, key),
	}
	if st.shown != nil {
		g.At, g.Interval = st.shown.Time, st.shown.Interval
	}
	return g
}

// followed is the series that the graph shows: of the pinned row, else of the
// alarm, else of the process under the cursor, else of the GPU in focus, else of
// the GPU of the table's first row.
func followed(st *state, rows []table.Row) snapshot.SeriesKey {
	if st.pinned != nil {
		return *st.pinned
	}
	s := st.shown
	if s == nil {
		return snapshot.SeriesKey{}
	}
	if a := alarmed(s, st.alert); a != nil {
		return snapshot.SeriesKey{Metric: metric.Used, GPUUUID: a.GPUUUID, Instance: a.Instance}
	}
	switch {
	case st.Cursor.Active:
		return graph.UsedBy(st.Cursor.ID)
	case st.Focus != nil:
		return snapshot.SeriesKey{Metric: metric.Used, GPUUUID: st.Focus.GPUUUID, Instance: st.Focus.Instance}
	case len(rows) > 0:
		return snapshot.SeriesKey{Metric: metric.Used, GPUUUID: rows[0].Process.ID.GPUUUID}
	case len(s.GPUs) > 0:
		return snapshot.SeriesKey{Metric: metric.Used, GPUUUID: s.GPUs[0].UUID}
	default:
		return snapshot.SeriesKey{}
	}
}

// alarmed is the urgent alert on the alert line, else the worst urgent one, or nil.
func alarmed(s *snapshot.Snapshot, current int) *snapshot.Alert {
	urgent := func(a *snapshot.Alert) bool { return a.Severity == snapshot.Urgent && a.GPUUUID != "" }
	if current >= 0 && current < len(s.Alerts) && urgent(&s.Alerts[current]) {
		return &s.Alerts[current]
	}
	for i := range s.Alerts {
		if urgent(&s.Alerts[i]) {
			return &s.Alerts[i]
		}
	}
	return nil
}
