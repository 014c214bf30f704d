package snapshot

import (
	"cmp"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/metric"
)

// WithoutFigures returns the row without its memory, utilisation, probe and forecasts.
func (p *Process) WithoutFigures() Process {
	out := *p
	out.SMUtilization, out.Used = Int{}, Bytes{}
	out.MemoryUtilization, out.EncoderUtilization, out.DecoderUtilization = Int{}, Int{}, Int{}
	out.ClearParts()
	out.CPU, out.Host = Float{}, Bytes{}
	out.Probe = nil
	out.Outlook, out.PredictedAllocated, out.Demand, out.Trend, out.GrowthPerSecond = Outlook{}, nil, Demand{}, TrendUnknown, Bytes{}
	return out
}

func (p *Process) ClearParts() {
	p.Allocated, p.Cached, p.Fragmented = Bytes{}, Bytes{}, Bytes{}
	p.Returnable, p.Asleep, p.Other = Bytes{}, Bytes{}, Bytes{}
	p.Allocators = nil
}

// SetFigures sets the recorded figures of a row to those of a past moment, unknown without a recorded value.
// A row with recorded parts gets a live probe.
func (p *Process) SetFigures(value func(metric.ID) Float) {
	for id, at := range processBytes {
		if at != nil {
			*at(p) = quantity.As[quantity.Bytes](value(metric.ID(id)))
		}
	}
	p.CPU = value(metric.CPU)
	p.SMUtilization = quantity.As[int](value(metric.SMUtilization))
	p.Steps = quantity.As[int64](value(metric.Steps))
	if p.Probe == nil && p.Reserved().Known() {
		p.Probe = &Probe{State: ProbeLive}
	}
}

// SetFigures sets the figures of a GPU and its instances to those of a past moment, with the rows of
// that moment. A figure without a recorded value becomes unknown, unless it is a constant.
func (g *GPU) SetFigures(rows []Process, value func(metric.ID) Float, instance func(InstanceID) Float) {
	g.Memory.setUsed(quantity.As[quantity.Bytes](value(metric.Used)))
	for id := metric.FirstSensor; id < metric.Count; id++ {
		if metric.Table[id].History != metric.Constant {
			g.Set(id, value(id))
		}
	}
	g.Throttled, g.ECC, g.NVLinks = nil, metric.ECC{}, nil
	g.XIDs, g.IdleSince, g.Outlook, g.Holders, g.Allocation = nil, time.Time{}, Outlook{}, nil, nil
	g.Parts = PartsOf(g.Memory.Used, rows, func(p *Process) bool { return p.ID.GPUUUID == g.UUID })
	g.CountProcesses(rows)
	g.Instances = slices.Clone(g.Instances)
	for i := range g.Instances {
		in := &g.Instances[i]
		in.Outlook = Outlook{}
		in.Memory.setUsed(quantity.As[quantity.Bytes](instance(in.ID)))
		in.Sum(g.UUID, rows)
	}
}

// setUsed sets used memory, and sets free memory to the rest of the capacity.
func (m *Memory) setUsed(used Bytes) {
	m.Used, m.Free = used, Bytes{}
	u, ok := used.Value()
	if capacity, limited := m.Capacity().Value(); ok && limited {
		m.Free = quantity.From(max(capacity-u, 0), quantity.Computed)
	}
}

// SortRows orders rows by GPU, instance, pid and start time. It first checks whether the rows are in
// order, as usual, because moving large rows is slow.
func SortRows(rows []Process) {
	for i := 1; i < len(rows); i++ {
		if byPlace(&rows[i-1], &rows[i]) > 0 {
			sorted.Stable(rows, func(a, b Process) int { return byPlace(&a, &b) })
			return
		}
	}
}

func byPlace(a, b *Process) int {
	return cmp.Or(cmp.Compare(a.GPU, b.GPU),
		a.ID.Instance.Compare(b.ID.Instance),
		cmp.Compare(a.ID.Process.PID, b.ID.Process.PID),
		cmp.Compare(a.ID.Process.StartTime, b.ID.Process.StartTime))
}
