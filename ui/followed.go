package ui

import (
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/graph"
)

func graphAbout(st *state, lk *cell.Appearance, key snapshot.SeriesKey) graph.Graph {
	g := graph.Graph{
		Appearance: lk, History: st.history, Window: st.window, Lines: st.lines, Stacks: st.stacks, Snapshot: st.shown,
		At: st.now, Running: !st.frozen && st.past.IsZero(),
		Subject: graph.SubjectOf(st.shown, key), Since: st.knownSince(key),
	}
	if st.shown != nil {
		g.At, g.Interval = st.shown.Time, st.shown.Interval
	}
	return g
}

// knownSince returns the earliest moment of a series: the start of its process or of the history, the later of them.
func (st *state) knownSince(key snapshot.SeriesKey) time.Time {
	if st.history == nil {
		return time.Time{}
	}
	oldest, _ := st.history.Span()
	if p := st.shown.Row(key.Row); p != nil && p.Started.After(oldest) {
		return p.Started
	}
	return oldest
}

// followed returns the series that the graph shows: the pinned one, or else the GPU in focus, the
// process under the cursor, the GPU of an urgent alert, or the fullest GPU.
func followed(st *state) snapshot.SeriesKey {
	if st.pinned != nil {
		return *st.pinned
	}
	return followedUnpinned(st)
}

func followedUnpinned(st *state) snapshot.SeriesKey {
	s := st.shown
	switch {
	case s == nil:
		return snapshot.SeriesKey{}
	case st.Focus != nil:
		return snapshot.SeriesKey{Metric: metric.Used, GPUUUID: st.Focus.GPUUUID, Instance: st.Focus.Instance}
	case st.Cursor.Active:
		return graph.UsedBy(st.Cursor.ID)
	}
	if a := alarmed(st.headlines(), st.alert); a != nil {
		return snapshot.SeriesKey{Metric: metric.Used, GPUUUID: a.GPUUUID, Instance: a.Instance}
	}
	key := snapshot.SeriesKey{Metric: metric.Used}
	if g := s.Fullest(); g != nil {
		key.GPUUUID = g.UUID
	} else if len(s.GPUs) > 0 {
		key.GPUUUID = s.GPUs[0].UUID
	}
	return key
}

// alarmed returns the urgent alert on the alert line, or else the worst urgent one; nil if none names a GPU.
func alarmed(alerts []snapshot.Alert, current int) *snapshot.Alert {
	urgent := func(a *snapshot.Alert) bool { return a.Severity == snapshot.Urgent && a.GPUUUID != "" }
	if current >= 0 && current < len(alerts) && urgent(&alerts[current]) {
		return &alerts[current]
	}
	return snapshot.Find(alerts, urgent)
}
