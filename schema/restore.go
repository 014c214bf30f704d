package schema

import (
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// The limits on a document that comes from outside.
const (
	mostBytes = quantity.PiB
	mostGPUs  = 256
	mostRows  = 4096
)

// Snapshot returns the snapshot that the document describes. The peaks, trends and parents of
// processes are not in a document and stay unset. Amounts that sane or signed refuses become unknown.
func (d *Document) Snapshot() *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Time: time.Time(d.Time), Simulated: d.Simulated, ProbeSeen: true, ProbesUnasked: max(d.Probes.Unasked, 0),
		Host: snapshot.Host{Name: d.Host, MemoryTotal: sane(d.HostMemory.TotalBytes, quantity.System), MemoryUsed: sane(d.HostMemory.UsedBytes, quantity.System)},
		Driver: snapshot.Driver{
			Version: string(d.Driver.Version), CUDAVersion: string(d.Driver.CUDAVersion), State: snapshot.DriverState(d.Driver.State),
			Message: string(d.Driver.Message), MemoryCall: string(d.Driver.MemoryCall), ProbesAnswering: max(d.Probes.Answering, 0),
		},
	}
	for i := range d.GPUs[:min(len(d.GPUs), mostGPUs)] {
		g := &d.GPUs[i]
		for j := range g.Processes {
			if len(s.Rows) < mostRows {
				s.Rows = append(s.Rows, g.Processes[j].row(g))
			}
		}
	}
	for i := range d.GPUs[:min(len(d.GPUs), mostGPUs)] {
		if g := &d.GPUs[i]; g.Index != nil {
			s.GPUs = append(s.GPUs, g.restore(s.Rows))
		}
	}
	s.Alerts = List(d.Alerts, func(a *Alert) snapshot.Alert { return a.restore(s) })
	s.Guard = d.Guard.Restore()
	return s
}

// sane marks an amount of memory with its source; an impossible amount becomes unknown.
func sane(b snapshot.Bytes, source quantity.Source) snapshot.Bytes {
	v, known := b.Value()
	if !known || v < 0 || v > mostBytes {
		return snapshot.Bytes{}
	}
	return quantity.From(v, source)
}

// signed checks an amount as sane does, but admits negative amounts and keeps the source.
func signed(b snapshot.Bytes) snapshot.Bytes {
	if v, known := b.Value(); !known || v < -mostBytes || v > mostBytes {
		return snapshot.Bytes{}
	}
	return b
}

func (m *Memory) restore() snapshot.Memory {
	source := quantity.Driver
	for _, known := range []quantity.Source{quantity.DriverV1, quantity.System, quantity.Probe} {
		if string(m.Source) == known.String() {
			source = known
		}
	}
	return snapshot.Memory{
		Total: sane(m.TotalBytes, source), Used: sane(m.UsedBytes, source),
		Free: sane(m.FreeBytes, source), Reserved: sane(m.ReservedBytes, source),
	}
}

func (g *GPU) restore(rows []snapshot.Process) snapshot.GPU {
	out := snapshot.GPU{
		Index: *g.Index, UUID: g.UUID, Name: string(g.Name), PCIBusID: string(g.PCIBusID),
		State: snapshot.GPUState(g.State), Since: time.Time(g.Since), Message: string(g.Message),
		Memory: g.Memory.restore(), Sensors: sensors(g.Sensors), Throttled: g.Throttled, ECC: g.ECC, MIG: g.MIG,
		Outlook: snapshot.Outlook{FullIn: g.FullIn.restore(), Predicted: restored(g.Predicted), Doubt: snapshot.Doubt(g.Doubt)},
		NVLinks: g.NVLinks,
		XIDs:    List(g.XIDs, func(x *XID) snapshot.XID { return snapshot.XID{Code: x.Code, Time: time.Time(x.Time)} }),
	}
	out.Parts = snapshot.PartsOf(out.Memory.Used, rows, func(p *snapshot.Process) bool { return p.ID.GPUUUID == g.UUID })
	out.Parts.Returnable = sane(g.ReturnableBytes, quantity.Computed)
	out.Unattributed = sane(g.UnattributedBytes, quantity.Computed)
	count := 0
	for i := range rows {
		if rows[i].ID.GPUUUID == g.UUID {
			count++
		}
	}
	out.ProcessCount = quantity.From(count, quantity.Computed)
	for i := range g.Instances {
		in := &g.Instances[i]
		instance := snapshot.Instance{
			ID: snapshot.InstanceID{MIG: true, GPU: in.GPUInstance, Compute: in.ComputeInstance}, UUID: in.UUID, Profile: string(in.Profile),
			Memory: in.Memory.restore(), Outlook: snapshot.Outlook{FullIn: in.FullIn.restore(), Predicted: restored(in.Predicted), Doubt: snapshot.Doubt(in.Doubt)},
		}
		instance.Sum(g.UUID, rows)
		instance.Parts.Returnable = sane(in.ReturnableBytes, quantity.Computed)
		out.Instances = append(out.Instances, instance)
	}
	return out
}

// sensors marks each known value with its source. A value that is not finite becomes unknown.
func sensors(s metric.Sensors) metric.Sensors {
	for id := metric.FirstSensor; id < metric.Count; id++ {
		if v, known := s.Value(id).Value(); known {
			s.Set(id, quantity.From(v, metric.Table[id].Source))
		}
	}
	return s.Finite()
}

func (f *FullIn) restore() *snapshot.FullIn {
	if f == nil || !seconds(f.MedianSeconds) || !seconds(f.EarliestSeconds) || f.LatestSeconds != nil && !seconds(*f.LatestSeconds) {
		return nil
	}
	out := &snapshot.FullIn{Median: durationOf(f.MedianSeconds), Earliest: durationOf(f.EarliestSeconds)}
	if f.LatestSeconds != nil {
		out.Latest = durationOf(*f.LatestSeconds)
	}
	return out
}

func seconds(v float64) bool { return v >= 0 && v <= 1e9 }

func durationOf(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func restored(predictions []Prediction) []snapshot.Prediction {
	var out []snapshot.Prediction
	for _, p := range predictions {
		if seconds(p.HorizonSeconds) {
			out = append(out, snapshot.Prediction{
				Horizon: durationOf(p.HorizonSeconds), Median: p.MedianBytes,
				Lower80: p.Lower80Bytes, Upper80: p.Upper80Bytes, Lower95: p.Lower95Bytes, Upper95: p.Upper95Bytes,
			})
		}
	}
	return out
}

// row returns the process as a row of g.
func (p *Process) row(g *GPU) snapshot.Process {
	out := snapshot.Process{
		ID:      snapshot.RowID{Process: process.Identity{PID: p.PID}, GPUUUID: g.UUID},
		Started: time.Time(p.StartTime), User: string(p.User), Type: string(p.Type),
		MPSLimit: sane(p.MPSLimitBytes, quantity.System), MPSThreads: metric.Finite(p.MPSThreads), Name: string(p.Name), Command: strings.Fields(string(p.Command)),
		Runtime: string(p.Runtime), RuntimeVersion: string(p.RuntimeVersion),
		CPU: metric.Finite(p.CPUPercent), Host: sane(p.HostBytes, quantity.System), SMUtilization: p.SMUtilizationPercent,
		MemoryUtilization: p.MemoryUtilizationPercent, EncoderUtilization: p.EncoderUtilizationPercent, DecoderUtilization: p.DecoderUtilizationPercent,
		Used: sane(p.UsedBytes, quantity.Driver), Allocated: sane(p.AllocatedBytes, quantity.Probe), Cached: sane(p.CachedBytes, quantity.Probe),
		Fragmented: sane(p.FragmentedBytes, quantity.Probe), Returnable: sane(p.ReturnableBytes, quantity.Probe), Asleep: sane(p.AsleepBytes, quantity.Probe), Other: signed(p.OtherBytes),
		Outlook: snapshot.Outlook{Predicted: restored(p.Predicted), Doubt: snapshot.Doubt(p.Doubt)}, PredictedAllocated: restored(p.PredictedAllocated),
		Probe: p.Probe.restore(), Allocators: List(p.Allocators, (*Allocator).restore),
		Evictable: List(p.Evictable, func(c *Evictable) snapshot.Evictable {
			return snapshot.Evictable{Name: string(c.Name), Priority: c.Priority, Bytes: sane(c.Bytes, quantity.Probe)}
		}),
	}
	if g.Index != nil {
		out.GPU = *g.Index
	}
	if p.StartTimeTicks != nil {
		out.ID.Process.StartTime = *p.StartTimeTicks
	}
	if p.PIDNamespace != nil {
		out.ID.Process.Namespace = *p.PIDNamespace
	}
	if p.GPUInstance != nil && p.ComputeInstance != nil {
		out.ID.Instance = snapshot.InstanceID{MIG: true, GPU: *p.GPUInstance, Compute: *p.ComputeInstance}
	}
	if kind, id, found := strings.Cut(string(p.Job), " "); found {
		out.Job = process.Job{Kind: kind, ID: id, Step: string(p.JobStep), Namespace: string(p.JobNamespace), Container: string(p.JobContainer)}
	}
	return out
}

func (p *Probe) restore() *snapshot.Probe {
	if p == nil {
		return nil
	}
	out := &snapshot.Probe{
		State: snapshot.ProbeState(p.State), OutOfMemoryCount: p.OutOfMemoryCount, AllocRetries: p.AllocRetries,
		StartedBy: string(p.StartedBy), Rejected: string(p.Rejected), Claimed: sane(p.ClaimedBytes, quantity.Probe), ByDaemon: p.Source == "daemon",
		Capabilities: List(p.Capabilities, func(word *Text) string { return string(*word) }),
	}
	if seconds(p.AgeSeconds) {
		out.Age = durationOf(p.AgeSeconds)
	}
	return out
}

func (a *Allocator) restore() snapshot.Allocator {
	size := func(b snapshot.Bytes) snapshot.Bytes { return sane(b, quantity.Probe) }
	return snapshot.Allocator{
		Kind: a.Kind, Basis: snapshot.Basis(a.Basis), ReturnableBound: snapshot.Bound(a.ReturnableBound), Config: string(a.Config),
		Reserved: size(a.ReservedBytes), Allocated: size(a.AllocatedBytes), Cached: size(a.CachedBytes), Fragmented: size(a.FragmentedBytes),
		Returnable: size(a.ReturnableBytes), Pending: size(a.PendingBytes), LargestFree: size(a.LargestFreeBytes), Asleep: size(a.AsleepBytes), Managed: size(a.ManagedBytes),
		PeakAllocated: size(a.PeakAllocatedBytes), PeakReserved: size(a.PeakReservedBytes),
		Segments: a.Segments, OutOfMemoryCount: a.OutOfMemoryCount, AllocRetries: a.AllocRetries, Blocks: a.Blocks,
		StrandedSegments: a.StrandedSegments, FailedAllocations: a.FailedAllocations,
		Pools: List(a.Pools, func(p *Pool) snapshot.Pool {
			return snapshot.Pool{Name: string(p.Name), Reserved: size(p.ReservedBytes), Allocated: size(p.AllocatedBytes), Fragmented: size(p.FragmentedBytes), Segments: p.Segments}
		}),
		Largest: List(a.Largest, func(l *Allocation) snapshot.Allocation {
			allocation := snapshot.Allocation{Bytes: l.Bytes, API: string(l.API), Library: string(l.Library)}
			if seconds(l.AgeSeconds.Or(0)) {
				allocation.AgeSeconds = l.AgeSeconds
			}
			return allocation
		}),
	}
}

// restore returns the alert with its GPU and its row in s. The advice stays in the message.
func (a *Alert) restore(s *snapshot.Snapshot) snapshot.Alert {
	out := snapshot.Alert{Kind: snapshot.AlertKind(a.Kind), Message: a.Message, Since: s.Time}
	if a.Severity == "urgent" {
		out.Severity = snapshot.Urgent
	}
	for i := range s.GPUs {
		if g := &s.GPUs[i]; a.GPU != nil && g.Index == *a.GPU {
			out.GPU, out.GPUUUID = g.Index, g.UUID
		}
	}
	for i := range s.Rows {
		if p := &s.Rows[i]; a.PID != nil && p.ID.Process.PID == *a.PID && (out.GPUUUID == "" || p.ID.GPUUUID == out.GPUUUID) {
			out.Row = p.ID
		}
	}
	return out
}
