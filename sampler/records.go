package sampler

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// metrics is one series for each metric that has ever been known; the others
// cost nothing.
type metrics [metric.Count]*store.Series

// What is recorded of a process and of a GPU.
var recordedOfProcess, recordedOfGPU = metric.RecordedOf(metric.Process), metric.RecordedOf(metric.GPU)

// append writes a sample where there is one; a tick without is a gap. It keeps
// whole numbers, and of noisy metrics the digits that the screen shows: a day
// of the others would take more room than all memory figures, which are kept to
// the byte.
func (m *metrics) append(s *store.Store, id metric.ID, value snapshot.Float) {
	v, known := value.Value()
	if !known {
		return
	}
	if m[id] == nil {
		m[id] = s.Open()
	}
	m[id].Append(rounded(toWhole(v), metric.Table[id].Digits))
}

// toWhole rounds to an integer. Whoever reports more than 2^62 bytes reports
// nonsense, of which no digits are kept.
func toWhole(v float64) int64 { return int64(math.Round(min(max(v, -1<<62), 1<<62))) }

// rounded keeps so many binary digits, all of them where digits is 0.
func rounded(v int64, digits int) int64 {
	drop := bits.Len64(uint64(max(v, 0))) - digits
	if digits == 0 || drop <= 0 {
		return v
	}
	return (v + 1<<(drop-1)) >> drop << drop
}

func (m *metrics) close() {
	for _, series := range m {
		if series != nil {
			series.Close()
		}
	}
}

// bytes is a metric of memory at a moment.
func (m *metrics) bytes(id metric.ID, t time.Time) snapshot.Bytes {
	v := m.value(id, t)
	return quantity.From(quantity.Bytes(v.Or(0)), v.Source())
}

// value is a metric at a moment, unknown where it was not recorded.
func (m *metrics) value(id metric.ID, t time.Time) snapshot.Float {
	if m[id] == nil {
		return snapshot.Float{}
	}
	v, _, ok := m[id].At(t)
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
	Skews   []span    // when its readings were of different moments
	metrics metrics
}

func (r *rowRecord) append(s *store.Store, now time.Time, p *snapshot.Process) {
	r.noteSkew(now, p)
	r.Process = p
	for _, id := range recordedOfProcess {
		r.metrics.append(s, id, p.Value(id))
	}
}

// at rebuilds the row as it was. Its names are those it was last seen with.
func (r *rowRecord) at(t time.Time) snapshot.Process {
	p := withoutFigures(*r.Process)
	m := &r.metrics
	p.Used = m.bytes(metric.Used, t)
	p.Allocated = m.bytes(metric.Allocated, t)
	p.Cached = m.bytes(metric.Cached, t)
	p.Fragmented = m.bytes(metric.Fragmented, t)
	p.Returnable = m.bytes(metric.Returnable, t)
	p.Host = m.bytes(metric.Host, t)
	p.CPU = m.value(metric.CPU, t)
	busy := m.value(metric.SMUtilization, t)
	p.SMUtilization = quantity.From(int(busy.Or(0)), busy.Source())
	if reserved := quantity.Sum(p.Allocated, p.Cached, p.Fragmented); reserved.Known() {
		p.Probe = &snapshot.Probe{State: snapshot.ProbeLive}
		if used, ok := p.Used.Value(); ok && !r.skewedAt(t) {
			p.Other = quantity.From(used-reserved.Or(0), quantity.Computed)
		}
	}
	return p
}

// driverSpan is a time that the driver spent in one state and version.
type driverSpan struct {
	From   time.Time
	Driver snapshot.Driver
}

// noteDriver keeps what the driver was from now on, where that is new.
func (h *History) noteDriver(now time.Time, d *snapshot.Driver) {
	const most = 1000
	n := len(h.drivers)
	if n > 0 {
		was := &h.drivers[n-1].Driver
		if was.State == d.State && was.Version == d.Version && was.CUDAVersion == d.CUDAVersion && was.MemoryCall == d.MemoryCall {
			return
		}
	}
	if n == most {
		h.drivers = slices.Clone(h.drivers[n-most/2:])
	}
	// What is of the moment alone stays away: an error is of its process, and
	// nothing of the past is tried again.
	then := *d
	then.Err, then.RetryAt, then.ProbesAnswering, then.Hanging = nil, time.Time{}, 0, 0
	h.drivers = append(h.drivers, driverSpan{From: now, Driver: then})
}

// driverAt is what the driver was at a moment; before all that is known, the
// first that is.
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
	const most = 1000
	if n := len(r.States); n == 0 || r.States[n-1].State != g.State {
		r.States = append(r.States, stateSpan{From: now, State: g.State, Message: g.Message})
		if len(r.States) > most {
			r.States = slices.Clone(r.States[len(r.States)-most/2:])
		}
	}
	r.GPU, r.Last = *g, now
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
	m := &r.metrics
	g.State, g.Message, g.Since, g.RetryAt = snapshot.GPUOK, "", time.Time{}, time.Time{}
	for _, was := range slices.Backward(r.States) {
		if !was.From.After(t) {
			g.State, g.Message, g.Since = was.State, was.Message, was.From
			break
		}
	}
	setUsed(&g.Memory, m.bytes(metric.Used, t))
	for id := metric.FirstSensor; id < metric.Count; id++ {
		if metric.Table[id].History != metric.Constant {
			g.Set(id, m.value(id, t))
		}
	}
	g.Throttled, g.ECC = nil, snapshot.ECC{}
	g.XIDs, g.IdleSince, g.FullIn, g.Predicted = nil, time.Time{}, nil, nil
	g.Parts = partsOf(g.Memory.Used, rows, func(p *snapshot.Process) bool { return p.ID.GPUUUID == g.UUID })
	g.ProcessCount, g.Unattributed = count(g.Memory.Used, rows, g.UUID)
	g.Instances = nil
	for _, in := range r.GPU.Instances {
		record := r.instance(in.ID)
		if record == nil {
			continue // a restored record may lack it
		}
		in.FullIn, in.Predicted = nil, nil
		setUsed(&in.Memory, record.metrics.bytes(metric.Used, t))
		sumInstance(&in, g.UUID, rows)
		g.Instances = append(g.Instances, in)
	}
	return g
}

// setUsed sets used memory, and free memory to the rest of the capacity.
func setUsed(m *snapshot.Memory, used snapshot.Bytes) {
	m.Used, m.Free = used, snapshot.Bytes{}
	u, ok := used.Value()
	if capacity, limited := m.Capacity().Value(); ok && limited {
		m.Free = quantity.From(max(capacity-u, 0), quantity.Computed)
	}
}
