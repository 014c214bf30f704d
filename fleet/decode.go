package fleet

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// Limits on a box, as for a document of schema "vramscope/1".
const (
	mostGPUs = 256
	mostRows = 4096
)

type decoder struct {
	snap  *snapshot.Snapshot
	gpus  map[string]*gpuFigures
	rows  map[rowKey]*snapshot.Process
	order []rowKey
}

type gpuFigures struct {
	gpu       snapshot.GPU
	values    map[field]float64
	foreign   map[instanceFigure]float64 // figures of other exporters, used where vramscope's are unknown
	instances map[snapshot.InstanceID]*instanceFigures
}

// instanceFigure is a figure of a MIG instance, or of the GPU if instance is "".
type instanceFigure struct {
	field
	instance string
}

type rowKey struct{ uuid, pid, instance string }

// ofGPU, ofProcess and ofInstance return the metrics of metric.Table by their exported names. Each map
// is made on first use, because every command loads this package.
var ofGPU, ofProcess, ofInstance = exportedNames(metric.GPU), exportedNames(metric.Process), exportedNames(metric.Instance)

func exportedNames(subject metric.Subject) func() map[string]metric.ID {
	return sync.OnceValue(func() map[string]metric.ID {
		names := map[string]metric.ID{}
		for id := range metric.Count {
			if name := metric.Table[id].ExportedAs(subject); name != "" {
				names[name] = id
			}
		}
		return names
	})
}

// figures maps metrics to the fields that Line.fill takes.
var figures = map[metric.ID]field{
	metric.Used: used, metric.Total: total, metric.Free: free, metric.Reserved: reserved,
	metric.Allocated: allocated, metric.Cached: cached, metric.Fragmented: fragmented, metric.Returnable: returnable,
	metric.Utilization: utilization, metric.Temperature: temperature, metric.TemperatureSlowdown: slowdown,
	metric.Power: power, metric.PowerLimit: powerLimit,
}

// boxOf makes the snapshot of a box from its series at a moment.
func boxOf(all []series, name string, at time.Time) *snapshot.Snapshot {
	d := &decoder{
		snap: &snapshot.Snapshot{Time: at, Host: snapshot.Host{Name: name}, Driver: snapshot.Driver{State: snapshot.DriverOK}},
		gpus: map[string]*gpuFigures{}, rows: map[rowKey]*snapshot.Process{},
	}
	for i := range all {
		d.take(&all[i])
	}
	d.finish()
	return d.snap
}

// take reads one series. It ignores unknown names and values that are no numbers.
func (d *decoder) take(s *series) {
	name := s.label("__name__")
	if math.IsNaN(s.value) || math.IsInf(s.value, 0) {
		return
	}
	switch name {
	case exported(metric.HostInfo):
		d.snap.Host.Name, d.snap.Driver.Version, d.snap.Driver.CUDAVersion = s.label("host"), s.label("driver_version"), s.label("cuda_version")
		d.snap.Simulated = s.label("simulated") == "true"
	case exported(metric.SampleInterval):
		d.snap.Interval = time.Duration(min(max(s.value, 0), 3600) * float64(time.Second))
	case exported(metric.DriverState):
		if s.value == 1 {
			d.snap.Driver.State = snapshot.DriverState(s.label("state"))
		}
	case exported(metric.ProbesAnswering):
		d.snap.Driver.ProbesAnswering = int(min(max(s.value, 0), mostRows))
	case exported(metric.ProcessInfo):
		d.describe(s)
	case exported(metric.Alerts):
		d.alert(s)
	default:
		if id, ok := ofProcess()[name]; ok {
			d.process(s, id)
		} else if !d.ofGPU(s, name) && !d.ofMIG(s, name) {
			d.foreign(s, name)
		}
	}
}

// gpu returns the GPU of a series, or nil if the series has no uuid or the box too many GPUs.
func (d *decoder) gpu(uuid, index string) *gpuFigures {
	g := d.gpus[uuid]
	if g == nil {
		if uuid == "" || len(d.gpus) >= mostGPUs {
			return nil
		}
		g = &gpuFigures{
			gpu: snapshot.GPU{UUID: uuid, State: snapshot.GPUOK, Index: -1}, values: map[field]float64{},
			foreign: map[instanceFigure]float64{}, instances: map[snapshot.InstanceID]*instanceFigures{},
		}
		d.gpus[uuid] = g
	}
	if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < 1<<16 {
		g.gpu.Index = i
	}
	return g
}

// described has the readers of series about a GPU that are not in metric.Table.
var described = map[string]func(*gpuFigures, *series){
	exported(metric.GPUInfo): func(g *gpuFigures, s *series) { g.gpu.Name, g.gpu.PCIBusID = s.label("name"), s.label("pci_bus_id") },
	exported(metric.GPUState): func(g *gpuFigures, s *series) {
		if s.value == 1 {
			g.gpu.State = snapshot.GPUState(s.label("state"))
		}
	},
	exported(metric.GPUThrottled): func(g *gpuFigures, s *series) { g.gpu.Throttled = append(g.gpu.Throttled, s.label("reason")) },
	exported(metric.ECCErrors): func(g *gpuFigures, s *series) {
		count := &g.gpu.ECC.Corrected
		if s.label("type") == "uncorrected" {
			count = &g.gpu.ECC.Uncorrected
		}
		*count = quantity.From(uint64(max(s.value, 0)), quantity.Driver)
	},
	exported(metric.FullIn):         func(g *gpuFigures, s *series) { g.values[fullIn] = s.value },
	exported(metric.FullInEarliest): func(g *gpuFigures, s *series) { g.values[earliest] = s.value },
	exported(metric.FullInLatest):   func(g *gpuFigures, s *series) { g.values[latest] = s.value },
}

// ofGPU reads a series of vramscope's exporter about a GPU. It returns false for other series.
func (d *decoder) ofGPU(s *series, name string) bool {
	id, measured := ofGPU()[name]
	take := described[name]
	if !measured && take == nil {
		return false
	}
	g := d.gpu(s.label("uuid"), s.label("gpu"))
	switch f, ok := figures[id]; {
	case g == nil:
	case take != nil:
		take(g, s)
	case ok:
		g.values[f] = s.value
	case id >= metric.FirstSensor:
		g.gpu.Set(id, quantity.From(s.value/metric.Table[id].Unit.Base(1), quantity.Driver))
	}
	return true
}

// foreign reads a series of another exporter.
func (d *decoder) foreign(s *series, name string) {
	for _, e := range exporters[1:] {
		uuid := cmp.Or(s.label(e.uuid), s.label("uuid"))
		if uuid != "" && !strings.HasPrefix(uuid, "GPU-") {
			uuid = "GPU-" + uuid
		}
		if name == "nvidia_smi_gpu_info" && e == exporters[2] {
			if g := d.gpu(uuid, s.label("index")); g != nil {
				g.gpu.Name = s.label("name")
			}
			return
		}
		for f, its := range e.metrics {
			if its != name {
				continue
			}
			g := d.gpu(uuid, s.label("gpu"))
			if g == nil {
				return
			}
			if model := s.label("modelName"); model != "" {
				g.gpu.Name = model
			}
			if host := s.label("Hostname") + s.label("hostname"); host != "" {
				d.snap.Host.Name = host
			}
			scale, err := strconv.ParseFloat(e.scale[f], 64)
			if err != nil {
				scale = 1
			}
			at := instanceFigure{f, s.label("GPU_I_ID")}
			if before, known := g.foreign[at]; !known || s.value*scale > before { // the GPU's own value is larger than a pod's share
				g.foreign[at] = s.value * scale
			}
			return
		}
	}
}

// finish computes derived values, and orders the GPUs and alerts.
func (d *decoder) finish() {
	for _, k := range d.order {
		p := d.rows[k]
		if p.Allocated.Known() {
			d.snap.ProbeSeen = true
			p.Probe = &snapshot.Probe{State: snapshot.ProbeLive}
			if reserved, ok := p.Reserved().Value(); ok && p.Used.Known() {
				p.Other = quantity.From(p.Used.Or(0)-reserved, quantity.Computed)
			}
		}
		if g := d.gpus[k.uuid]; g != nil {
			p.GPU = g.gpu.Index
		}
		d.snap.Rows = append(d.snap.Rows, *p)
	}
	for _, g := range d.gpus {
		d.snap.GPUs = append(d.snap.GPUs, g.finish(d.snap.Rows))
	}
	sorted.Stable(d.snap.GPUs, func(a, b snapshot.GPU) int { return cmp.Or(a.Index-b.Index, strings.Compare(a.UUID, b.UUID)) })
	for i := range d.snap.Alerts { // the screen finds alerts by GPU
		if g := d.snap.GPU(d.snap.Alerts[i].GPUUUID); g != nil {
			d.snap.Alerts[i].GPU = g.Index
		}
	}
	sorted.Stable(d.snap.Alerts, func(a, b snapshot.Alert) int {
		return cmp.Or(int(b.Severity)-int(a.Severity), alertRank(a.Kind)-alertRank(b.Kind))
	})
}

func (g *gpuFigures) finish(rows []snapshot.Process) snapshot.GPU {
	values := g.values
	taken := map[field]float64{}
	for at, v := range g.foreign {
		before, known := taken[at.field]
		switch {
		case summed[at.field]:
			v += before
		case known:
			v = max(v, before)
		}
		taken[at.field] = v
	}
	for f, v := range taken {
		if _, known := values[f]; !known {
			values[f] = v
		}
	}
	if _, known := values[total]; !known && values[used]+values[free] > 0 { // dcgm-exporter has no total
		values[total] = values[used] + values[free] + values[reserved]
	}
	l := Line{GPU: g.gpu}
	l.fill(values)
	out := l.GPU
	if _, known := values[allocated]; known {
		belongs := func(p *snapshot.Process) bool { return p.ID.GPUUUID == out.UUID }
		out.Parts = snapshot.PartsOf(out.Memory.Used, rows, belongs)
	}
	out.Instances = g.finishInstances(rows)
	out.MIG = len(out.Instances) > 0
	for i := range rows {
		if rows[i].ID.GPUUUID == out.UUID {
			out.ProcessCount = quantity.From(out.ProcessCount.Or(0)+1, quantity.Computed)
		}
	}
	return out
}
