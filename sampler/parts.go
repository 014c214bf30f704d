package sampler

import (
	"slices"
	"sort"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

// gpus makes the snapshot's GPUs.
func (s *Sampler) gpus(now time.Time, gpus []*gpu, m merged) []snapshot.GPU {
	out := make([]snapshot.GPU, 0, len(gpus))
	for _, g := range gpus {
		rows := rowsOf(m.rows, g.device.Index)
		out = append(out, s.gpu(g, rows))
		s.predictGPU(now, g, &out[len(out)-1], rows)
	}
	return s.addProbeOnlyGPUs(out, m.rows)
}

// rowsOf are the rows of an index: of one GPU, or of two where another GPU took
// the index of a lost one.
func rowsOf(rows []snapshot.Process, index int) []snapshot.Process {
	from := sort.Search(len(rows), func(i int) bool { return rows[i].GPU >= index })
	to := sort.Search(len(rows), func(i int) bool { return rows[i].GPU > index })
	return rows[from:to]
}

// gpu is one GPU: its constants, and its figures where this tick has read them.
func (s *Sampler) gpu(g *gpu, rows []snapshot.Process) snapshot.GPU {
	out := snapshot.GPU{
		Index: g.device.Index, UUID: g.device.UUID, Name: g.device.Name, PCIBusID: g.device.PCIBusID,
		State: g.state, Since: g.since, Message: g.message, RetryAt: g.retryAt,
		Sensors:   metric.Sensors{TemperatureSlowdown: g.device.TemperatureSlowdown, PowerLimit: g.device.PowerLimit},
		IdleSince: g.idleSince, XIDs: g.xids,
	}
	if g.last != nil {
		out.LastUsed = g.last.Memory.Used
		out.MIG = g.last.MIGEnabled
		// The capacity does not change while a GPU does not answer.
		out.Memory.Total, out.Memory.Reserved = g.last.Memory.Total, g.last.Memory.Reserved
	} else {
		out.Memory.Total = s.totalByProbes(g.device.UUID)
	}
	r := g.fresh
	if r == nil {
		return out
	}
	out.Memory, out.Sensors = snapshot.Memory(r.Memory), r.Sensors
	out.TemperatureSlowdown, out.PowerLimit = r.Device.TemperatureSlowdown, r.Device.PowerLimit
	out.Throttled = throttled(r.Throttle)
	out.ECC = snapshot.ECC(r.ECC)
	out.Parts = partsOf(out.Memory.Used, rows, func(p *snapshot.Process) bool { return p.ID.GPUUUID == g.device.UUID })
	for i := range r.Instances {
		in := &r.Instances[i]
		out.Instances = append(out.Instances, snapshot.Instance{
			ID: snapshot.InstanceID(in.ID), UUID: in.UUID, Profile: in.Profile, Slices: in.Slices,
			Memory: snapshot.Memory(in.Memory),
		})
		sumInstance(&out.Instances[i], g.device.UUID, rows)
	}
	if r.ProcessesError == nil {
		out.ProcessCount, out.Unattributed = count(out.Memory.Used, rows, g.device.UUID)
	}
	return out
}

// sumInstance sets the parts and the process count of an instance.
func sumInstance(in *snapshot.Instance, gpuUUID string, rows []snapshot.Process) {
	belongs := func(p *snapshot.Process) bool { return p.ID.GPUUUID == gpuUUID && p.ID.Instance == in.ID }
	in.Parts = partsOf(in.Memory.Used, rows, belongs)
	n := 0
	for i := range rows {
		if belongs(&rows[i]) {
			n++
		}
	}
	in.ProcessCount = quantity.From(n, quantity.Computed)
}

// partsOf sums the parts of the rows that belong. Unknown is what is used and no
// probe explains: processes without a probe and memory without a process. What
// a probe reports beyond what the driver has as used does not count: any user's
// process may report anything, and root sees all of them.
func partsOf(used snapshot.Bytes, rows []snapshot.Process, belongs func(*snapshot.Process) bool) snapshot.Parts {
	var parts snapshot.Parts
	var explained quantity.Bytes
	total, limited := used.Value()
	room := total // for the processes whose use the driver does not report
	take := func(p *snapshot.Process) {
		if other := p.Other.Or(0); other > 0 {
			parts.Other = quantity.Sum(parts.Other, p.Other)
			explained += other
		}
		parts.Allocated = quantity.Sum(parts.Allocated, p.Kept())
		parts.Fragmented = quantity.Sum(parts.Fragmented, p.Unreturnable())
		parts.Returnable = quantity.Sum(parts.Returnable, p.Returnable)
		explained += heldBy(p)
	}
	unlisted := false
	for i := range rows {
		p := &rows[i]
		if !belongs(p) {
			continue
		}
		own, known := p.Used.Value()
		room -= own
		unlisted = unlisted || !known
		if known && p.Allocated.Known() && heldBy(p) <= own+snapshot.Tolerance(own) {
			take(p)
		}
	}
	for i := range rows {
		p := &rows[i]
		if !unlisted || !belongs(p) || p.Used.Known() || !p.Allocated.Known() {
			continue
		}
		if limited && heldBy(p) > room+snapshot.Tolerance(total) {
			continue
		}
		room -= heldBy(p)
		take(p)
	}
	if returnable, ok := parts.Returnable.Value(); ok && limited {
		parts.Returnable = quantity.From(min(returnable, total), quantity.Computed)
	}
	if limited {
		parts.Unknown = quantity.From(max(total-explained, 0), quantity.Computed)
	}
	return parts
}

// heldBy is the memory that a process's allocators hold.
func heldBy(p *snapshot.Process) quantity.Bytes {
	return p.Allocated.Or(0) + p.Cached.Or(p.Returnable.Or(0)) + p.Fragmented.Or(0)
}

// count is the number of a GPU's processes, and the used memory that none of them
// accounts for.
func count(used snapshot.Bytes, rows []snapshot.Process, uuid string) (snapshot.Int, snapshot.Bytes) {
	pids := make([]int, 0, len(rows))
	var attributed quantity.Bytes
	for i := range rows {
		if rows[i].ID.GPUUUID == uuid {
			pids = append(pids, rows[i].ID.Process.PID)
			attributed += rows[i].Used.Or(0)
		}
	}
	slices.Sort(pids)
	n := quantity.From(len(slices.Compact(pids)), quantity.Driver)
	total, ok := used.Value()
	if !ok {
		return n, snapshot.Bytes{}
	}
	return n, quantity.From(max(total-attributed, 0), quantity.Computed)
}

// throttled names the reasons that hold the clocks down, in nvidia-smi's order.
func throttled(t quantity.Optional[nvml.Throttle]) []string {
	bits := t.Or(0)
	var reasons []string
	for _, r := range []struct {
		bits nvml.Throttle
		name string
	}{
		{nvml.ThrottlePowerCap, "power"},
		{nvml.ThrottleHardware | nvml.ThrottlePowerBrake, "hardware"},
		{nvml.ThrottleSoftwareThermal | nvml.ThrottleHardwareThermal, "thermal"},
	} {
		if bits&r.bits != 0 {
			reasons = append(reasons, r.name)
		}
	}
	return reasons
}
