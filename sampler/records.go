package sampler

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// metrics is one series for each metric that has ever been known. A metric
// that nobody tells costs nothing.
type metrics [snapshot.MetricMemoryUtilization + 1]*store.Series

// append writes a sample where there is one; a tick without is a gap.
func (m *metrics) append(s *store.Store, metric snapshot.Metric, value int64, known bool) {
	if !known {
		return
	}
	if m[metric] == nil {
		m[metric] = s.Open()
	}
	m[metric].Append(value)
}

func (m *metrics) appendBytes(s *store.Store, metric snapshot.Metric, value snapshot.Bytes) {
	v, ok := value.Value()
	m.append(s, metric, int64(v), ok)
}

func (m *metrics) appendInt(s *store.Store, metric snapshot.Metric, value snapshot.Int) {
	v, ok := value.Value()
	m.append(s, metric, int64(v), ok)
}

// appendFloat keeps whole watts and per cents: the digits behind would be noise
// that no compression takes out.
func (m *metrics) appendFloat(s *store.Store, metric snapshot.Metric, value snapshot.Float) {
	v, ok := value.Value()
	m.append(s, metric, int64(math.Round(v)), ok)
}

// Of what trembles all the time and is looked at in passing the past keeps as
// many digits as the screen shows: a day of the others would take more room than
// all of the memory that this is about. A GPU's figures, and everything on it,
// are kept to the byte.
const (
	cpuDigits  = 6 // binary: 1.6 % and better
	hostDigits = 9 // 0.2 % and better: three decimal digits
)

// rounded keeps so many binary digits of a figure.
func rounded(v int64, digits int) int64 {
	drop := bits.Len64(uint64(max(v, 0))) - digits
	if drop <= 0 {
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

// bytes reads a series of bytes at a moment.
func (m *metrics) bytes(metric snapshot.Metric, t time.Time, source quantity.Source) snapshot.Bytes {
	v, ok := m.at(metric, t)
	if !ok {
		return snapshot.Bytes{}
	}
	return quantity.From(quantity.Bytes(v), source)
}

func (m *metrics) int(metric snapshot.Metric, t time.Time) snapshot.Int {
	v, ok := m.at(metric, t)
	if !ok {
		return snapshot.Int{}
	}
	return quantity.From(int(v), quantity.Driver)
}

func (m *metrics) float(metric snapshot.Metric, t time.Time, source quantity.Source) snapshot.Float {
	v, ok := m.at(metric, t)
	if !ok {
		return snapshot.Float{}
	}
	return quantity.From(float64(v), source)
}

func (m *metrics) at(metric snapshot.Metric, t time.Time) (int64, bool) {
	if m[metric] == nil {
		return 0, false
	}
	v, _, ok := m[metric].At(t)
	return v, ok
}

// rowRecord is a row for as long as the history remembers it.
type rowRecord struct {
	process *snapshot.Process // as last seen
	first   time.Time
	ended   time.Time // zero while it lives
	tick    uint64    // the snapshot that last had it
	metrics metrics
	torn    []span // when its figures were known, and not of one moment
}

func (r *rowRecord) append(s *store.Store, now time.Time, p *snapshot.Process) {
	r.noteTorn(now, p)
	r.process = p
	r.metrics.appendBytes(s, snapshot.MetricUsed, p.Used)
	r.metrics.appendBytes(s, snapshot.MetricAllocated, p.Allocated)
	r.metrics.appendBytes(s, snapshot.MetricCached, p.Cached)
	r.metrics.appendBytes(s, snapshot.MetricFragmented, p.Fragmented)
	r.metrics.appendBytes(s, snapshot.MetricReturnable, p.Returnable)
	host, known := p.Host.Value()
	r.metrics.append(s, snapshot.MetricHost, rounded(int64(host), hostDigits), known)
	cpu, known := p.CPU.Value()
	r.metrics.append(s, snapshot.MetricCPU, rounded(int64(math.Round(cpu)), cpuDigits), known)
	busy, known := p.SMUtilization.Value()
	r.metrics.append(s, snapshot.MetricUtilization, rounded(int64(busy), cpuDigits), known)
}

// at rebuilds the row as it was. Its names are those it was last seen with.
func (r *rowRecord) at(t time.Time) snapshot.Process {
	p := withoutFigures(*r.process)
	m := &r.metrics
	p.Used = m.bytes(snapshot.MetricUsed, t, quantity.Driver)
	p.Allocated = m.bytes(snapshot.MetricAllocated, t, quantity.Probe)
	p.Cached = m.bytes(snapshot.MetricCached, t, quantity.Probe)
	p.Fragmented = m.bytes(snapshot.MetricFragmented, t, quantity.Probe)
	p.Returnable = m.bytes(snapshot.MetricReturnable, t, quantity.Probe)
	p.Host = m.bytes(snapshot.MetricHost, t, quantity.System)
	p.CPU = m.float(snapshot.MetricCPU, t, quantity.System)
	p.SMUtilization = m.int(snapshot.MetricUtilization, t)
	if reserved := quantity.Sum(p.Allocated, p.Cached, p.Fragmented); reserved.Known() {
		p.Probe = &snapshot.Probe{State: snapshot.ProbeLive}
		if used, ok := p.Used.Value(); ok && !r.tornAt(t) {
			p.Other = quantity.From(used-reserved.Or(0), quantity.Computed)
		}
	}
	return p
}

// driverSpan is a time that the driver spent in one state and version.
type driverSpan struct {
	from   time.Time
	driver snapshot.Driver
}

// noteDriver keeps what the driver was from now on, where that is new.
func (h *History) noteDriver(now time.Time, d *snapshot.Driver) {
	const most = 1000
	n := len(h.drivers)
	if n > 0 {
		was := &h.drivers[n-1].driver
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
	h.drivers = append(h.drivers, driverSpan{from: now, driver: then})
}

// driverAt is what the driver was at a moment; before all that is known, the
// first that is.
func (h *History) driverAt(t time.Time) snapshot.Driver {
	for i := len(h.drivers) - 1; i > 0; i-- {
		if !h.drivers[i].from.After(t) {
			return h.drivers[i].driver
		}
	}
	if len(h.drivers) == 0 {
		return snapshot.Driver{}
	}
	return h.drivers[0].driver
}

// gpuRecord is a GPU or a MIG instance for as long as the history remembers it.
type gpuRecord struct {
	gpu       snapshot.GPU // as last seen
	first     time.Time    // when it was first seen
	last      time.Time    // and last
	states    []stateSpan
	metrics   metrics
	instances map[snapshot.InstanceID]*instanceRecord
}

// stateSpan is a time that a GPU spent in one state.
type stateSpan struct {
	from    time.Time
	state   snapshot.GPUState
	message string
}

// close ends its series.
func (r *gpuRecord) close() {
	r.metrics.close()
	for _, in := range r.instances {
		in.metrics.close()
	}
}

type instanceRecord struct {
	instance snapshot.Instance
	metrics  metrics
}

func (r *gpuRecord) append(s *store.Store, now time.Time, g *snapshot.GPU) {
	const most = 1000
	if n := len(r.states); n == 0 || r.states[n-1].state != g.State {
		r.states = append(r.states, stateSpan{from: now, state: g.State, message: g.Message})
		if len(r.states) > most {
			r.states = append([]stateSpan(nil), r.states[len(r.states)-most/2:]...)
		}
	}
	r.gpu, r.last = *g, now
	r.metrics.appendBytes(s, snapshot.MetricUsed, g.Memory.Used)
	r.metrics.appendInt(s, snapshot.MetricUtilization, g.Utilization)
	r.metrics.appendInt(s, snapshot.MetricMemoryUtilization, g.MemoryUtilization)
	r.metrics.appendInt(s, snapshot.MetricTemperature, g.Temperature)
	r.metrics.appendFloat(s, snapshot.MetricPower, g.Power)
	r.metrics.appendInt(s, snapshot.MetricSMClock, g.SMClock)
	for i := range g.Instances {
		in := &g.Instances[i]
		rec := r.instances[in.ID]
		if rec == nil {
			rec = &instanceRecord{}
			r.instances[in.ID] = rec
		}
		rec.instance = *in
		rec.metrics.appendBytes(s, snapshot.MetricUsed, in.Memory.Used)
	}
}

// present reports whether the GPU was in the snapshots of a moment.
func (r *gpuRecord) present(t, newest time.Time) bool {
	return !r.first.After(t) && (!r.last.Before(t) || !r.last.Before(newest))
}

// at rebuilds the GPU as it was, with the rows that were on it then.
func (r *gpuRecord) at(t time.Time, rows []snapshot.Process) snapshot.GPU {
	g := r.gpu
	m := &r.metrics
	g.State, g.Message, g.Since, g.RetryAt = snapshot.GPUOK, "", time.Time{}, time.Time{}
	for i := len(r.states) - 1; i >= 0; i-- {
		if !r.states[i].from.After(t) {
			g.State, g.Message, g.Since = r.states[i].state, r.states[i].message, r.states[i].from
			break
		}
	}
	g.Memory.Used = m.bytes(snapshot.MetricUsed, t, quantity.Driver)
	g.Memory.Free = snapshot.Bytes{}
	if used, ok := g.Memory.Used.Value(); ok {
		if capacity, ok := g.Memory.Capacity().Value(); ok {
			g.Memory.Free = quantity.From(max(capacity-used, 0), quantity.Computed)
		}
	}
	g.Utilization = m.int(snapshot.MetricUtilization, t)
	g.MemoryUtilization = m.int(snapshot.MetricMemoryUtilization, t)
	g.Temperature = m.int(snapshot.MetricTemperature, t)
	g.Power = m.float(snapshot.MetricPower, t, quantity.Driver)
	g.SMClock = m.int(snapshot.MetricSMClock, t)
	g.MemoryClock, g.Throttled, g.ECC = snapshot.Int{}, nil, snapshot.ECC{}
	g.XIDs, g.IdleSince, g.FullIn, g.Predicted = nil, time.Time{}, nil, nil
	g.Parts = partsOf(g.Memory.Used, rows, func(p *snapshot.Process) bool { return p.ID.GPUUUID == g.UUID })
	g.ProcessCount, g.Unattributed = count(g.Memory.Used, rows, g.UUID)
	g.Instances = nil
	for i := range r.gpu.Instances {
		if rec := r.instances[r.gpu.Instances[i].ID]; rec != nil {
			g.Instances = append(g.Instances, rec.at(t, g.UUID, rows))
		}
	}
	return g
}

func (r *instanceRecord) at(t time.Time, gpuUUID string, rows []snapshot.Process) snapshot.Instance {
	in := r.instance
	in.FullIn, in.Predicted = nil, nil
	in.Memory.Used = r.metrics.bytes(snapshot.MetricUsed, t, quantity.Driver)
	in.Memory.Free = snapshot.Bytes{}
	if used, ok := in.Memory.Used.Value(); ok && in.Memory.Total.Known() {
		in.Memory.Free = quantity.From(max(in.Memory.Total.Or(0)-in.Memory.Reserved.Or(0)-used, 0), quantity.Computed)
	}
	mine := func(p *snapshot.Process) bool { return p.ID.GPUUUID == gpuUUID && p.ID.Instance == in.ID }
	in.Parts = partsOf(in.Memory.Used, rows, mine)
	n := 0
	for i := range rows {
		if mine(&rows[i]) {
			n++
		}
	}
	in.ProcessCount = quantity.From(n, quantity.Computed)
	return in
}
