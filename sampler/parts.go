package sampler

import (
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
		out = append(out, snapshot.GPU{})
		added := &out[len(out)-1]
		s.describeGPU(g, added, rows)
		s.predictGPU(now, g, added, rows)
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

// describeGPU fills in one GPU: its constants, and its figures where this tick has read them.
func (s *Sampler) describeGPU(g *gpu, out *snapshot.GPU, rows []snapshot.Process) {
	*out = snapshot.GPU{
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
		for _, id := range constantOfGPU {
			if v := g.last.Value(id); v.Known() {
				out.Set(id, v)
			}
		}
	} else {
		out.Memory.Total = s.totalByProbes(g.device.UUID)
	}
	r := g.fresh
	if r == nil {
		return
	}
	out.Memory, out.Sensors = snapshot.Memory(r.Memory), r.Sensors
	out.TemperatureSlowdown, out.PowerLimit = r.Device.TemperatureSlowdown, r.Device.PowerLimit
	out.Throttled = throttled(r.Throttle)
	out.ECC = snapshot.ECC(r.ECC)
	for _, link := range r.NVLinks {
		out.NVLinks = append(out.NVLinks, snapshot.NVLink(link))
	}
	out.Parts = snapshot.PartsOf(out.Memory.Used, rows, func(p *snapshot.Process) bool { return p.ID.GPUUUID == g.device.UUID })
	for i := range r.Instances {
		in := &r.Instances[i]
		out.Instances = append(out.Instances, snapshot.Instance{
			ID: snapshot.InstanceID(in.ID), UUID: in.UUID, Profile: in.Profile, Slices: in.Slices,
			Memory: snapshot.Memory(in.Memory),
		})
		out.Instances[i].Sum(g.device.UUID, rows)
	}
	if r.ProcessesError == nil {
		out.CountProcesses(rows)
	}
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
