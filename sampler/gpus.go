package sampler

import (
	"slices"
	"sort"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/metric"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// The metrics that keep their last value while a GPU does not answer.
var constants = metric.KeptOf(metric.GPU, metric.Constant)

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

// rowsOf returns the rows on the GPUs with this index: one GPU, or two if a GPU has got the index of
// a lost GPU.
func rowsOf(rows []snapshot.Process, index int) []snapshot.Process {
	from := sort.Search(len(rows), func(i int) bool { return rows[i].GPU >= index })
	to := sort.Search(len(rows), func(i int) bool { return rows[i].GPU > index })
	return rows[from:to]
}

// describeGPU fills in one GPU: its constants, and the figures that were read in this tick.
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
		for _, id := range constants {
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
	out.ECC, out.NVLinks = r.ECC, r.NVLinks
	out.Parts = snapshot.PartsOf(out.Memory.Used, rows, func(p *snapshot.Process) bool { return p.ID.GPUUUID == g.device.UUID })
	for i := range r.Instances {
		in := &r.Instances[i]
		out.Instances = append(out.Instances, snapshot.Instance{
			ID: in.ID, UUID: in.UUID, Profile: in.Profile, Slices: in.Slices, Whole: in.Whole,
			Memory: snapshot.Memory(in.Memory),
		})
		out.Instances[i].Sum(g.device.UUID, rows)
	}
	if r.ProcessesError == nil {
		out.CountProcesses(rows)
	}
}

// throttled names the reasons for lowered clocks.
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

// probeOnlyGPU is a GPU that a probe names and whose size the driver has not reported. The place in
// Sampler.probeOnly decides the GPU's index; a place whose uuid is "" is free.
type probeOnlyGPU struct {
	uuid     string
	total    snapshot.Bytes
	sized    time.Time // when a probe last reported the total
	disputed bool      // in the tick at named, probes reported different totals
	named    time.Time // when a probe last named the GPU
}

const (
	// maxProbeOnlyGPUs is a limit, because any process may name any number of GPUs.
	maxProbeOnlyGPUs = 64
	// probeOnlyKept is how long a GPU keeps its index while no probe names it, so that a program that
	// restarts finds its GPU in the same place.
	probeOnlyKept = time.Minute
)

// nameDevice notes that a probe names a device, and the device's size. It returns false if the
// device can have no row: the driver does not list the device, and either lists other GPUs or
// maxProbeOnlyGPUs is reached.
func (s *Sampler) nameDevice(now time.Time, uuid string, d *probe.Device) bool {
	at := s.placeOf(uuid)
	if at < 0 {
		listed := s.driver.find(uuid)
		if listed != nil && listed.last != nil {
			return true // the driver has measured it
		}
		if listed == nil && len(s.driver.gpus) > 0 {
			return false
		}
		if at = s.placeOf(""); at < 0 {
			if len(s.probeOnly) == maxProbeOnlyGPUs {
				return listed != nil
			}
			at = len(s.probeOnly)
			s.probeOnly = append(s.probeOnly, probeOnlyGPU{})
		}
		s.probeOnly[at] = probeOnlyGPU{uuid: uuid}
	}
	g := &s.probeOnly[at]
	if !g.named.Equal(now) {
		g.named, g.disputed = now, false
	}
	// The size of a MIG instance differs from that of its GPU.
	if d.UUID == uuid && d.Total.Known() {
		g.disputed = g.disputed || g.total.Known() && g.sized.Equal(now) && g.total != d.Total
		g.total, g.sized = d.Total, now
	}
	return true
}

// forgetProbeOnly frees the places of GPUs that no probe has named for probeOnlyKept.
func (s *Sampler) forgetProbeOnly(now time.Time) {
	used := 0
	for i := range s.probeOnly {
		if now.Sub(s.probeOnly[i].named) >= probeOnlyKept {
			s.probeOnly[i] = probeOnlyGPU{}
		} else {
			used = i + 1
		}
	}
	s.probeOnly = s.probeOnly[:used]
}

// placeOf returns a GPU's place in probeOnly, negative if it has none.
func (s *Sampler) placeOf(uuid string) int {
	return slices.IndexFunc(s.probeOnly, func(g probeOnlyGPU) bool { return g.uuid == uuid })
}

// totalByProbes returns a device's size as the probes report it, or unknown if they disagree.
func (s *Sampler) totalByProbes(uuid string) snapshot.Bytes {
	if at := s.placeOf(uuid); at >= 0 && !s.probeOnly[at].disputed {
		return s.probeOnly[at].total
	}
	return snapshot.Bytes{}
}

// indexOf returns the driver's index of a GPU. The GPUs that only probes name get the indexes after
// the driver's, in the order of their places.
func (s *Sampler) indexOf(uuid string) int {
	if g := s.driver.find(uuid); g != nil {
		return g.device.Index
	}
	past := 0
	for _, g := range s.driver.gpus {
		past = max(past, g.device.Index+1)
	}
	for i := range s.probeOnly {
		if s.probeOnly[i].uuid == uuid {
			break
		}
		if s.driver.find(s.probeOnly[i].uuid) == nil {
			past++
		}
	}
	return past
}

// addProbeOnlyGPUs adds the rows' GPUs that the driver does not list. Their used memory is unknown.
func (s *Sampler) addProbeOnlyGPUs(gpus []snapshot.GPU, rows []snapshot.Process) []snapshot.GPU {
	listed := len(gpus)
	for i := range rows {
		uuid := rows[i].ID.GPUUUID
		if i > 0 && uuid == rows[i-1].ID.GPUUUID || slices.ContainsFunc(gpus, func(g snapshot.GPU) bool { return g.UUID == uuid }) {
			continue
		}
		gpus = append(gpus, snapshot.GPU{
			Index: rows[i].GPU, UUID: uuid, State: snapshot.GPUError, Message: snapshot.ProbeDataOnly,
			Memory: snapshot.Memory{Total: s.totalByProbes(uuid)},
			Parts:  snapshot.PartsOf(snapshot.Bytes{}, rows, func(p *snapshot.Process) bool { return p.ID.GPUUUID == uuid }),
		})
	}
	sorted.Stable(gpus[listed:], func(a, b snapshot.GPU) int { return a.Index - b.Index })
	return gpus
}
