package ui

import (
	"strconv"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// newGraph is the graph of the main screen. It follows the alarm, else what
// the table is focused on, else the process under the cursor, else the GPU of
// the table's first row; P pins it.
func newGraph(st *state, lk *look, rows []row) graph {
	return graphAbout(st, lk, followed(st, rows))
}

// graphAbout is a graph of one series at the moment that the screen shows.
func graphAbout(st *state, lk *look, key snapshot.SeriesKey) graph {
	g := graph{
		look: lk, history: st.history, window: st.window,
		at: st.now, running: !st.frozen && st.past.IsZero(),
		subject: graphSubject{key: key, name: "used", full: "full"},
	}
	if st.shown != nil {
		g.at, g.interval = st.shown.Time, st.shown.Interval
		g.subject = subjectOf(st.shown, key)
	}
	return g
}

// followed is the series that the graph is about now.
func followed(st *state, rows []row) snapshot.SeriesKey {
	if st.pinned != nil {
		return *st.pinned
	}
	s := st.shown
	if s == nil {
		return snapshot.SeriesKey{}
	}
	if a := alarmed(s, st.alert); a != nil {
		return snapshot.SeriesKey{Metric: snapshot.MetricUsed, GPUUUID: a.GPUUUID, Instance: a.Instance}
	}
	switch {
	case st.cursor.active:
		return usedBy(st.cursor.id)
	case st.focus != nil:
		return snapshot.SeriesKey{Metric: snapshot.MetricUsed, GPUUUID: st.focus.gpuUUID, Instance: st.focus.instance}
	case len(rows) > 0:
		return snapshot.SeriesKey{Metric: snapshot.MetricUsed, GPUUUID: rows[0].process.ID.GPUUUID}
	case len(s.GPUs) > 0:
		return snapshot.SeriesKey{Metric: snapshot.MetricUsed, GPUUUID: s.GPUs[0].UUID}
	default:
		return snapshot.SeriesKey{}
	}
}

// alarmed is the alarm that the graph follows: the one on the alert line
// where that is urgent, else the worst urgent one; nil where none is.
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

// usedBy is the series of a row's used memory.
func usedBy(id snapshot.RowID) snapshot.SeriesKey {
	return snapshot.SeriesKey{Metric: snapshot.MetricUsed, GPUUUID: id.GPUUUID, Instance: id.Instance, Row: id}
}

// subjectOf gathers what a snapshot knows of a series: its name, capacity and
// forecast. What has gone keeps its curve.
func subjectOf(s *snapshot.Snapshot, key snapshot.SeriesKey) graphSubject {
	subject := graphSubject{key: key, name: "used", full: "full"}
	gpu := s.GPU(key.GPUUUID)
	if key.Row != (snapshot.RowID{}) {
		subject.name = "PID " + strconv.Itoa(key.Row.Process.PID) + " used"
		p := s.Row(key.Row)
		if p == nil {
			return subject
		}
		subject.used, subject.predicted = p.Used, p.Predicted
		if gpu != nil {
			subject.full = "GPU full"
			subject.capacity = reachable(gpu, p)
		}
		return subject
	}
	if gpu == nil {
		return subject
	}
	memory, number := gpu.Memory, 0
	if key.Instance.MIG {
		subject.full = "instance full"
		number, memory = gpu.InstanceNumber(key.Instance), snapshot.Memory{}
		if instance := gpu.Instance(key.Instance); instance != nil {
			memory = instance.Memory
			subject.predicted, subject.fullIn = instance.Predicted, instance.FullIn
		}
	} else {
		subject.predicted, subject.fullIn = gpu.Predicted, gpu.FullIn
	}
	subject.name = "GPU " + string(appendIndex(nil, gpu.Index, number)) + " used"
	subject.used, subject.capacity = memory.Used, memory.Capacity()
	return subject
}

// reachable is what a process could use at most: the capacity of its GPU or
// instance, less what everybody else has. There its GPU is full.
func reachable(gpu *snapshot.GPU, p *snapshot.Process) snapshot.Bytes {
	memory := gpu.Memory
	if instance := gpu.Instance(p.ID.Instance); instance != nil {
		memory = instance.Memory
	}
	capacity, ok := memory.Capacity().Value()
	if !ok {
		return snapshot.Bytes{}
	}
	all, known := memory.Used.Value()
	own, ownKnown := p.Used.Value()
	if others := all - own; known && ownKnown && others > 0 && capacity-others >= own {
		capacity -= others
	}
	return quantity.From(capacity, quantity.Computed)
}
