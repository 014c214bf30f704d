package cli

import (
	"math"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// documentOf puts a snapshot into the JSON schema's form.
func documentOf(snap *snapshot.Snapshot) document {
	doc := document{
		Schema:    schema,
		Time:      timestamp(snap.Time),
		Host:      snap.Host.Name,
		Simulated: snap.Simulated,
		Driver: driverJSON{
			Version:     jsonText(snap.Driver.Version),
			CUDAVersion: jsonText(snap.Driver.CUDAVersion),
			State:       string(snap.Driver.State),
			Message:     jsonText(snap.Driver.Message),
			MemoryCall:  jsonText(snap.Driver.MemoryCall),
		},
		GPUs:       make([]gpuJSON, 0, len(snap.GPUs)),
		HostMemory: hostMemory{snap.Host.MemoryTotal, snap.Host.MemoryUsed},
		Alerts:     make([]alertJSON, 0, len(snap.Alerts)),
	}
	place := make(map[string]int, len(snap.GPUs))
	for i := range snap.GPUs {
		place[snap.GPUs[i].UUID] = i
		doc.GPUs = append(doc.GPUs, gpuOf(&snap.GPUs[i]))
	}
	for i := range snap.Rows {
		uuid := snap.Rows[i].ID.GPUUUID
		at, ok := place[uuid]
		if !ok {
			// Only a probe knows of this GPU: there is no driver to name it.
			at = len(doc.GPUs)
			place[uuid] = at
			extra := gpuOf(&snapshot.GPU{UUID: uuid, State: unlisted})
			extra.Index = nil
			doc.GPUs = append(doc.GPUs, extra)
		}
		doc.GPUs[at].Processes = append(doc.GPUs[at].Processes, processOf(&snap.Rows[i]))
	}
	for i := range snap.Alerts {
		doc.Alerts = append(doc.Alerts, alertOf(&snap.Alerts[i]))
	}
	return doc
}

func gpuOf(g *snapshot.GPU) gpuJSON {
	out := gpuJSON{
		Index: &g.Index, UUID: g.UUID, Name: jsonText(g.Name), PCIBusID: jsonText(g.PCIBusID),
		State: string(g.State), Since: timestamp(g.Since), Message: jsonText(g.Message),
		Memory:                     memoryOf(g.Memory),
		UnattributedBytes:          g.Unattributed,
		ReturnableBytes:            g.Parts.Returnable,
		UtilizationPercent:         g.Utilization,
		MemoryUtilizationPercent:   g.MemoryUtilization,
		TemperatureCelsius:         g.Temperature,
		TemperatureSlowdownCelsius: g.TemperatureSlowdown,
		PowerWatts:                 finite(g.Power),
		PowerLimitWatts:            finite(g.PowerLimit),
		SMClockMHz:                 g.SMClock,
		MemoryClockMHz:             g.MemoryClock,
		Throttled:                  append([]string{}, g.Throttled...),
		ECC:                        eccJSON(g.ECC),
		XIDs:                       []xidJSON{},
		MIG:                        g.MIG,
		Instances:                  []instanceJSON{},
		Processes:                  []processJSON{},
		FullIn:                     fullInOf(g.FullIn),
		Predicted:                  predictedOf(g.Predicted),
	}
	for _, xid := range g.XIDs {
		out.XIDs = append(out.XIDs, xidJSON{xid.Code, timestamp(xid.Time)})
	}
	for i := range g.Instances {
		instance := &g.Instances[i]
		out.Instances = append(out.Instances, instanceJSON{
			GPUInstance: instance.ID.GPU, ComputeInstance: instance.ID.Compute,
			UUID: instance.UUID, Profile: jsonText(instance.Profile),
			Memory: memoryOf(instance.Memory), ReturnableBytes: instance.Parts.Returnable,
			FullIn: fullInOf(instance.FullIn), Predicted: predictedOf(instance.Predicted),
		})
	}
	return out
}

func fullInOf(full *snapshot.FullIn) *fullInJSON {
	if full == nil {
		return nil
	}
	out := &fullInJSON{MedianSeconds: full.Median.Seconds(), EarliestSeconds: full.Earliest.Seconds()}
	if full.Latest > 0 {
		latest := full.Latest.Seconds()
		out.LatestSeconds = &latest
	}
	return out
}

func memoryOf(m snapshot.Memory) memoryJSON {
	out := memoryJSON{TotalBytes: m.Total, UsedBytes: m.Used, FreeBytes: m.Free, ReservedBytes: m.Reserved}
	switch {
	case m.Used.Known():
		out.Source = jsonText(m.Used.Source().String())
	case m.Total.Source() == quantity.Probe:
		out.Source = jsonText(quantity.Probe.String()) // there is no driver: its process knows the card
	}
	return out
}

func processOf(p *snapshot.Process) processJSON {
	out := processJSON{
		PID: p.ID.Process.PID, StartTime: timestamp(p.Started),
		User: jsonText(p.User), Type: jsonText(p.Type), Runtime: jsonText(p.Runtime),
		Name: jsonText(p.Name), Command: jsonText(strings.Join(p.Command, " ")), Job: jsonText(p.Job.String()),
		UsedBytes: p.Used, AllocatedBytes: p.Allocated, CachedBytes: p.Cached,
		FragmentedBytes: p.Fragmented, OtherBytes: p.Other, ReturnableBytes: p.Returnable,
		Allocators:     []allocatorJSON{},
		RuntimeVersion: jsonText(p.RuntimeVersion), Evictable: []evictableJSON{},
		SMUtilizationPercent: p.SMUtilization, CPUPercent: tenths(p.CPU), HostBytes: p.Host,
		Predicted: predictedOf(p.Predicted), PredictedAllocated: predictedOf(p.PredictedAllocated),
	}
	for _, cache := range p.Evictable {
		out.Evictable = append(out.Evictable, evictableJSON{jsonText(cache.Name), cache.Priority, cache.Bytes})
	}
	if instance := p.ID.Instance; instance.MIG {
		out.GPUInstance, out.ComputeInstance = &instance.GPU, &instance.Compute
	}
	for i := range p.Allocators {
		out.Allocators = append(out.Allocators, allocatorOf(&p.Allocators[i]))
	}
	if p.Probe != nil {
		out.Probe = &probeJSON{
			State: string(p.Probe.State), AgeSeconds: p.Probe.Age.Seconds(),
			OutOfMemoryCount: p.Probe.OutOfMemoryCount, AllocRetries: p.Probe.AllocRetries,
			StartedBy: jsonText(p.Probe.StartedBy), Capabilities: texts(p.Probe.Capabilities),
		}
	}
	return out
}

// texts is a list that is never null.
func texts(words []string) []jsonText {
	out := make([]jsonText, len(words))
	for i, word := range words {
		out[i] = jsonText(word)
	}
	return out
}

func allocatorOf(a *snapshot.Allocator) allocatorJSON {
	out := allocatorJSON{
		Kind: a.Kind, Basis: jsonText(a.Basis),
		ReservedBytes: a.Reserved, AllocatedBytes: a.Allocated, CachedBytes: a.Cached, FragmentedBytes: a.Fragmented,
		ReturnableBytes: a.Returnable, PendingBytes: a.Pending, LargestFreeBytes: a.LargestFree,
		Segments: a.Segments, OutOfMemoryCount: a.OutOfMemoryCount, AllocRetries: a.AllocRetries,
		PeakAllocatedBytes: a.PeakAllocated, PeakReservedBytes: a.PeakReserved,
		Blocks: a.Blocks, StrandedSegments: a.StrandedSegments, Config: jsonText(a.Config),
		Pools: []poolJSON{}, Largest: []allocationJSON{},
	}
	for _, p := range a.Pools {
		out.Pools = append(out.Pools, poolJSON{jsonText(p.Name), p.Reserved, p.Allocated, p.Fragmented, p.Segments})
	}
	for _, l := range a.Largest {
		age := snapshot.Float{}
		if held, ok := l.Age.Value(); ok {
			age = quantity.From(held.Seconds(), l.Age.Source())
		}
		out.Largest = append(out.Largest, allocationJSON{l.Bytes, age, jsonText(l.API), jsonText(l.Library)})
	}
	return out
}

// finite makes unknown what JSON has no number for.
func finite(value snapshot.Float) snapshot.Float {
	if v := value.Or(0); math.IsNaN(v) || math.IsInf(v, 0) {
		return snapshot.Float{}
	}
	return value
}

// tenths rounds: clock ticks carry no more than that.
func tenths(value snapshot.Float) snapshot.Float {
	v, ok := finite(value).Value()
	if !ok {
		return snapshot.Float{}
	}
	return quantity.From(math.Round(v*10)/10, value.Source())
}

func predictedOf(predictions []snapshot.Prediction) []predictedJSON {
	out := make([]predictedJSON, 0, len(predictions))
	for _, p := range predictions {
		out = append(out, predictedJSON{p.Horizon.Seconds(), p.Median, p.Lower80, p.Upper80, p.Lower95, p.Upper95})
	}
	return out
}

func alertOf(a *snapshot.Alert) alertJSON {
	out := alertJSON{Kind: string(a.Kind), Severity: "notice", Message: a.Message}
	if a.Severity == snapshot.Urgent {
		out.Severity = "urgent"
	}
	if a.Advice != "" {
		out.Message += ": " + a.Advice
	}
	if a.GPUUUID != "" {
		out.GPU = &a.GPU
	}
	if pid := a.Row.Process.PID; pid != 0 {
		out.PID = &pid
	}
	return out
}
