package history

import (
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// metrics holds a series for each metric that was ever known.
type metrics []recorded

type recorded struct {
	id metric.ID
	*store.Series
}

func (m metrics) of(id metric.ID) *store.Series {
	for _, r := range m {
		if r.id == id {
			return r.Series
		}
	}
	return nil
}

var constantOfGPU = metric.KeptOf(metric.GPU, metric.Constant)

// append writes a known value. A tick without a known value is a gap.
func (m *metrics) append(s *store.Store, id metric.ID, value snapshot.Float) {
	v, known := value.Value()
	if !known {
		return
	}
	series := m.of(id)
	if series == nil {
		series = s.Open()
		*m = append(*m, recorded{id, series})
	}
	series.Append(metric.Table[id].Whole(v))
}

func (m metrics) close() {
	for _, r := range m {
		r.Close()
	}
}

// value returns a metric at a moment, or unknown if it was not recorded.
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

// rowRecord is a row while the history remembers it.
type rowRecord struct {
	Process *snapshot.Process // as last seen
	First   time.Time
	Ended   time.Time // zero while it lives
	Tick    uint64    // sequence number of the last snapshot with the row
	metrics metrics
}

func (r *rowRecord) append(s *store.Store, p *snapshot.Process) {
	r.Process = p
	for _, id := range snapshot.RecordedOfProcess {
		r.metrics.append(s, id, p.Value(id))
	}
}

// at rebuilds the row at a moment, with its latest names.
func (r *rowRecord) at(t time.Time) snapshot.Process {
	p := r.Process.WithoutFigures()
	p.SetFigures(func(id metric.ID) snapshot.Float { return r.metrics.value(id, t) })
	return p
}

// span is a value and the time since when it applied.
type span[T any] struct {
	From  time.Time
	Value T
}

// spans are successive values, oldest first.
type spans[T any] []span[T]

const maxSpans = 1000

func (s *spans[T]) add(now time.Time, value T) {
	if len(*s) == maxSpans {
		*s = slices.Delete(*s, 0, maxSpans/2)
	}
	*s = append(*s, span[T]{now, value})
}

// at returns the value at a moment, or the first value, and since when it applied.
func (s spans[T]) at(t time.Time) (value T, from time.Time) {
	for i, span := range slices.Backward(s) {
		if i == 0 || !span.From.After(t) {
			return span.Value, span.From
		}
	}
	return value, from
}

// noteDriver adds the driver's state when it changes.
func (h *History) noteDriver(now time.Time, d *snapshot.Driver) {
	if n := len(h.drivers); n > 0 {
		was := &h.drivers[n-1].Value
		if was.State == d.State && was.Version == d.Version && was.CUDAVersion == d.CUDAVersion && was.MemoryCall == d.MemoryCall {
			return
		}
	}
	// Errors, retry times and the number of probes are not recorded.
	then := *d
	then.Err, then.RetryAt, then.ProbesAnswering = nil, time.Time{}, 0
	h.drivers.add(now, then)
}

type gpuRecord struct {
	GPU       snapshot.GPU // as last seen
	First     time.Time    // when the GPU was first seen
	Last      time.Time    // when the GPU was last seen
	States    spans[state]
	Instances []*instanceRecord
	metrics   metrics
}

type state struct {
	State   snapshot.GPUState
	Message string
}

func (r *gpuRecord) close() {
	r.metrics.close()
	for _, in := range r.Instances {
		in.metrics.close()
	}
}

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
	if n := len(r.States); n == 0 || r.States[n-1].Value.State != g.State {
		r.States.add(now, state{g.State, g.Message})
	}
	var was [metric.Count]snapshot.Float
	for _, id := range constantOfGPU {
		was[id] = r.GPU.Value(id)
	}
	r.GPU, r.Last = *g, now
	for _, id := range constantOfGPU { // a constant that was not read in this tick keeps its value
		if !g.Value(id).Known() {
			r.GPU.Set(id, was[id])
		}
	}
	for _, id := range snapshot.RecordedOfGPU {
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

func (r *gpuRecord) at(t time.Time, rows []snapshot.Process) snapshot.GPU {
	g := r.GPU
	m := r.metrics
	was, since := r.States.at(t)
	g.State, g.Message, g.Since, g.RetryAt = was.State, was.Message, since, time.Time{}
	g.SetFigures(rows,
		func(id metric.ID) snapshot.Float { return m.value(id, t) },
		func(id snapshot.InstanceID) snapshot.Float {
			if record := r.instance(id); record != nil {
				return record.metrics.value(metric.Used, t)
			}
			return snapshot.Float{} // no record of this instance
		})
	return g
}
