package history

import (
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// metrics is one series for each metric that has ever been known, in the order of
// placeOf. It reaches as far as the last of them: a process has few.
type metrics []*store.Series

// What is recorded of a process and of a GPU. Other memory is recorded as it was
// computed: the readings that it is the difference of may be of different moments.
var (
	recordedOfProcess = append(metric.KeptOf(metric.Process, metric.Recorded), metric.Other)
	recordedOfGPU     = metric.KeptOf(metric.GPU, metric.Recorded)
)

// placeOf is the place of a metric among all that is recorded, what processes have
// first; -1 where it is not recorded.
var placeOf = placesOf(recordedOfProcess, recordedOfGPU)

func placesOf(lists ...[]metric.ID) (place [metric.Count]int) {
	for i := range place {
		place[i] = -1
	}
	next := 0
	for _, id := range slices.Concat(lists...) {
		if place[id] < 0 {
			place[id] = next
			next++
		}
	}
	return place
}

// of is the series of a metric, nil where there is none.
func (m metrics) of(id metric.ID) *store.Series {
	if id >= metric.Count || placeOf[id] < 0 || placeOf[id] >= len(m) {
		return nil
	}
	return m[placeOf[id]]
}

// The metrics of a GPU whose last value is kept.
var constantOfGPU = metric.KeptOf(metric.GPU, metric.Constant)

// append writes a sample where there is one; a tick without is a gap.
func (m *metrics) append(s *store.Store, id metric.ID, value snapshot.Float) {
	v, known := value.Value()
	if !known {
		return
	}
	series := m.of(id)
	if series == nil {
		series = s.Open()
		if missing := placeOf[id] + 1 - len(*m); missing > 0 {
			*m = append(*m, make(metrics, missing)...)
		}
		(*m)[placeOf[id]] = series
	}
	series.Append(metric.Table[id].Whole(v))
}

func (m metrics) close() {
	for _, series := range m {
		if series != nil {
			series.Close()
		}
	}
}

// drop forgets the series, which are closed, before they have left the retention.
func (m metrics) drop() {
	for _, series := range m {
		if series != nil {
			series.Drop()
		}
	}
}

// value is a metric at a moment, unknown where it was not recorded.
func (m metrics) value(id metric.ID, t time.Time) snapshot.Float {
	series := m.of(id)
	if series == nil {
		return snapshot.Float{}
	}
	v, _, ok := series.At(t)
	if !ok {
		return snapshot.Float{}
	}
	return quantity.From(float64(v), metric.Table[id].Source)
}

// rowRecord is a row for as long as the history remembers it.
type rowRecord struct {
	Process *snapshot.Process // as last seen
	First   time.Time
	Ended   time.Time // zero while it lives
	Tick    uint64    // the snapshot that last had it
	metrics metrics
}

func (r *rowRecord) append(s *store.Store, p *snapshot.Process) {
	r.Process = p
	for _, id := range recordedOfProcess {
		r.metrics.append(s, id, p.Value(id))
	}
}

// at rebuilds the row as it was. Its names are those it was last seen with.
func (r *rowRecord) at(t time.Time) snapshot.Process {
	p := r.Process.WithoutFigures()
	p.SetFigures(func(id metric.ID) snapshot.Float { return r.metrics.value(id, t) })
	return p
}

// driverSpan is a time that the driver spent in one state and version.
type driverSpan struct {
	From   time.Time
	Driver snapshot.Driver
}

// noteDriver adds the driver's state where it has changed.
func (h *History) noteDriver(now time.Time, d *snapshot.Driver) {
	const limit = 1000
	n := len(h.drivers)
	if n > 0 {
		was := &h.drivers[n-1].Driver
		if was.State == d.State && was.Version == d.Version && was.CUDAVersion == d.CUDAVersion && was.MemoryCall == d.MemoryCall {
			return
		}
	}
	if n == limit {
		h.drivers = slices.Clone(h.drivers[n-limit/2:])
	}
	// Errors, retries and counts are of the moment, not of the past.
	then := *d
	then.Err, then.RetryAt, then.ProbesAnswering, then.Hanging = nil, time.Time{}, 0, 0
	h.drivers = append(h.drivers, driverSpan{From: now, Driver: then})
}

// driverAt is the driver's state at a moment, or the first known one.
func (h *History) driverAt(t time.Time) snapshot.Driver {
	for i := len(h.drivers) - 1; i > 0; i-- {
		if !h.drivers[i].From.After(t) {
			return h.drivers[i].Driver
		}
	}
	if len(h.drivers) == 0 {
		return snapshot.Driver{}
	}
	return h.drivers[0].Driver
}

// gpuRecord is a GPU in the history.
type gpuRecord struct {
	GPU       snapshot.GPU // as last seen
	First     time.Time    // when it was first seen
	Last      time.Time    // and last
	States    []stateSpan
	Instances []*instanceRecord
	metrics   metrics
}

// stateSpan is a time that a GPU spent in one state.
type stateSpan struct {
	From    time.Time
	State   snapshot.GPUState
	Message string
}

// close ends its series.
func (r *gpuRecord) close() {
	r.metrics.close()
	for _, in := range r.Instances {
		in.metrics.close()
	}
}

// instanceRecord is a MIG instance that the GPU has had.
type instanceRecord struct {
	ID      snapshot.InstanceID
	metrics metrics
}

func (r *gpuRecord) instance(id snapshot.InstanceID) *instanceRecord {
	for _, in := range r.Instances {
		if in.ID == id {
			return in
		}
	}
	return nil
}

func (r *gpuRecord) append(s *store.Store, now time.Time, g *snapshot.GPU) {
	const limit = 1000
	if n := len(r.States); n == 0 || r.States[n-1].State != g.State {
		r.States = append(r.States, stateSpan{From: now, State: g.State, Message: g.Message})
		if len(r.States) > limit {
			r.States = slices.Clone(r.States[len(r.States)-limit/2:])
		}
	}
	var was [metric.Count]snapshot.Float
	for _, id := range constantOfGPU {
		was[id] = r.GPU.Value(id)
	}
	r.GPU, r.Last = *g, now
	for _, id := range constantOfGPU { // some are not read at every tick
		if !g.Value(id).Known() {
			r.GPU.Set(id, was[id])
		}
	}
	for _, id := range recordedOfGPU {
		r.metrics.append(s, id, g.Value(id))
	}
	for i := range g.Instances {
		in := &g.Instances[i]
		record := r.instance(in.ID)
		if record == nil {
			record = &instanceRecord{ID: in.ID}
			r.Instances = append(r.Instances, record)
		}
		record.metrics.append(s, metric.Used, in.Memory.Value(metric.Used))
	}
}

// present reports whether the GPU was in the snapshots of a moment.
func (r *gpuRecord) present(t, newest time.Time) bool {
	return !r.First.After(t) && (!r.Last.Before(t) || !r.Last.Before(newest))
}

// at is the GPU at a moment, with the rows of that moment.
func (r *gpuRecord) at(t time.Time, rows []snapshot.Process) snapshot.GPU {
	g := r.GPU
	m := r.metrics
	g.State, g.Message, g.Since, g.RetryAt = snapshot.GPUOK, "", time.Time{}, time.Time{}
	for _, was := range slices.Backward(r.States) {
		if !was.From.After(t) {
			g.State, g.Message, g.Since = was.State, was.Message, was.From
			break
		}
	}
	g.SetFigures(rows,
		func(id metric.ID) snapshot.Float { return m.value(id, t) },
		func(id snapshot.InstanceID) snapshot.Float {
			if record := r.instance(id); record != nil {
				return record.metrics.value(metric.Used, t)
			}
			return snapshot.Float{} // a restored record may lack it
		})
	return g
}
