package exporter

import (
	"iter"
	"strconv"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// alerts writes the series of the driver, the probes and the guard, and the number of alerts by GPU,
// kind and severity.
func (w writer) alerts(snap *snapshot.Snapshot) {
	w.exported(metric.DriverState, nil, 1, string(snap.Driver.State))
	w.exported(metric.DriverFailures, nil, float64(snap.Driver.Failures))
	w.exported(metric.ProbesAnswering, nil, float64(snap.Driver.ProbesAnswering))
	w.exported(metric.ProbesUnasked, nil, float64(snap.ProbesUnasked))
	if g := snap.Guard; g != nil && g.Mode != snapshot.GuardOff {
		state := string(g.Mode)
		switch {
		case g.Cannot != "":
			state = "cannot_act"
		case g.Paused.After(snap.Time):
			state = "paused"
		}
		w.exported(metric.GuardState, nil, 1, state)
	}
	type about struct {
		uuid, kind, severity string
	}
	standing := map[about]int{}
	for i := range snap.Alerts {
		a := &snap.Alerts[i]
		key := about{"", string(a.Kind), schema.SeverityOf(a.Severity)}
		if snap.GPU(a.GPUUUID) != nil {
			key.uuid = a.GPUUUID
		}
		standing[key]++
	}
	for a, n := range standing {
		var subject labels
		if a.uuid != "" {
			subject = gpuLabels(snap.GPU(a.uuid))
		}
		w.exported(metric.Alerts, subject, float64(n), a.kind, a.severity)
	}
}

func gpuLabels(g *snapshot.GPU) labels {
	index := strconv.Itoa(g.Index)
	if g.Index < 0 {
		index = ""
	}
	return labelsOf(metric.GPU, index, g.UUID)
}

// gpu writes the series of a GPU; if the GPU does not answer, only its names and state.
func (w writer) gpu(snap *snapshot.Snapshot, g *snapshot.GPU) {
	subject := gpuLabels(g)
	w.exported(metric.GPUInfo, subject, 1, g.Name, g.PCIBusID)
	w.exported(metric.GPUState, subject, 1, string(g.State))
	if g.State != snapshot.GPUOK {
		return
	}
	sums := sumOf(snap.GPURows(g.UUID))
	for id := range metric.Count {
		if metric.Table[id].Of&metric.GPU != 0 {
			w.measured(metric.GPU, id, subject, g.Value(id))
		} else {
			w.measured(metric.GPU, id, subject, sums[id])
		}
	}
	if n, ok := g.ProcessCount.Value(); ok {
		w.exported(metric.GPUProcesses, subject, float64(n))
	}
	for _, reason := range g.Throttled {
		w.exported(metric.GPUThrottled, subject, 1, reason)
	}
	if on, ok := g.ECC.Enabled.Value(); ok {
		w.exported(metric.ECCEnabled, subject, map[bool]float64{true: 1}[on])
	}
	for kind, count := range map[string]quantity.Optional[uint64]{"corrected": g.ECC.Corrected, "uncorrected": g.ECC.Uncorrected} {
		if n, ok := count.Value(); ok {
			w.exported(metric.ECCErrors, subject, float64(n), kind)
		}
	}
	if full := g.FullIn; full != nil {
		w.exported(metric.FullIn, subject, full.Median.Seconds())
		w.exported(metric.FullInEarliest, subject, full.Earliest.Seconds())
		if full.Latest > 0 {
			w.exported(metric.FullInLatest, subject, full.Latest.Seconds())
		}
	}
	for _, p := range g.Predicted {
		w.exported(metric.Predicted, subject, float64(p.Median), strconv.FormatFloat(p.Horizon.Seconds(), 'f', -1, 64))
	}
	for i := range g.Instances {
		w.instance(snap, g, &g.Instances[i])
	}
}

func (w writer) instance(snap *snapshot.Snapshot, g *snapshot.GPU, in *snapshot.Instance) {
	subject := labelsOf(metric.Instance, strconv.Itoa(g.Index), g.UUID, instanceName(in.ID))
	w.exported(metric.MIGInfo, subject, 1, in.UUID, in.Profile)
	sums := sumOf(snap.PlaceRows(snapshot.Place{GPUUUID: g.UUID, Instance: in.ID}))
	for id := range metric.FirstSensor {
		if metric.Table[id].Of&metric.GPU != 0 {
			w.measured(metric.Instance, id, subject, in.Memory.Value(id))
		} else {
			w.measured(metric.Instance, id, subject, sums[id])
		}
	}
	if in.FullIn != nil {
		w.exported(metric.MIGFullIn, subject, in.FullIn.Median.Seconds())
	}
}

// instanceName returns a MIG instance's name, "GPU instance/compute instance", "" for a whole GPU.
func instanceName(id snapshot.InstanceID) string {
	if !id.MIG {
		return ""
	}
	return strconv.Itoa(int(id.GPU)) + "/" + strconv.Itoa(int(id.Compute))
}

func sumOf(rows iter.Seq[*snapshot.Process]) *figures {
	var sums figures
	for p := range rows {
		sums.add(p.Value)
	}
	return &sums
}

// figures are a process's metrics, or the sums of several processes' metrics.
type figures [metric.FirstSensor]metric.Float

// add adds the known values of the metrics that are exported for a process.
func (f *figures) add(value func(metric.ID) metric.Float) {
	for id := range metric.FirstSensor {
		if metric.Table[id].ExportedAs(metric.Process) != "" {
			f[id] = quantity.Sum(f[id], value(id))
		}
	}
}
