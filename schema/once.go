package schema

import (
	"vramscope/sampler/snapshot"
)

// Unlisted is the state of a GPU that only a probe names.
const Unlisted snapshot.GPUState = "unlisted"

// Head holds the first fields of most documents about one box.
type Head struct {
	Schema    string `json:"schema"`
	Time      Time   `json:"time"`
	Host      string `json:"host"`
	Simulated bool   `json:"simulated"`
}

func HeadOf(version string, snap *snapshot.Snapshot) Head {
	return Head{version, Time(snap.Time), snap.Host.Name, snap.Simulated}
}

// Document is what `vramscope once --format json` writes.
type Document struct {
	Head
	Driver     Driver     `json:"driver"`
	Probes     Probes     `json:"probes"`
	GPUs       []GPU      `json:"gpus"`
	Holders    []Holder   `json:"holders"`
	HostMemory HostMemory `json:"host_memory"`
	Alerts     []Alert    `json:"alerts"`
	Guard      *Guard     `json:"guard"`
}

type Driver struct {
	Version     Text   `json:"version"`
	CUDAVersion Text   `json:"cuda_version"`
	State       string `json:"state"`
	Message     Text   `json:"message"`
	MemoryCall  Text   `json:"memory_call"`
}

// Probes counts the processes whose probe answers, and those whose probe was not asked yet.
type Probes struct {
	Answering int `json:"answering"`
	Unasked   int `json:"unasked"`
}

type HostMemory struct {
	TotalBytes snapshot.Bytes `json:"total_bytes"`
	UsedBytes  snapshot.Bytes `json:"used_bytes"`
}

// Alert is an alert that stands.
type Alert struct {
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	GPU      *int   `json:"gpu"`
	PID      *int   `json:"pid"`
	Message  string `json:"message"`
}

// Of converts a snapshot.
func Of(snap *snapshot.Snapshot) Document {
	doc := Document{
		Head: HeadOf(Version, snap),
		Driver: Driver{
			Version:     Text(snap.Driver.Version),
			CUDAVersion: Text(snap.Driver.CUDAVersion),
			State:       string(snap.Driver.State),
			Message:     Text(snap.Driver.Message),
			MemoryCall:  Text(snap.Driver.MemoryCall),
		},
		Probes:     Probes{snap.Driver.ProbesAnswering, snap.ProbesUnasked},
		GPUs:       make([]GPU, 0, len(snap.GPUs)),
		Holders:    List(snap.Holders, holderOf),
		HostMemory: HostMemory{snap.Host.MemoryTotal, snap.Host.MemoryUsed},
		Alerts:     List(snap.Alerts, alertOf),
		Guard:      GuardOf(snap.Guard),
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
			// The driver does not list this GPU, which a probe names.
			at = len(doc.GPUs)
			place[uuid] = at
			extra := gpuOf(&snapshot.GPU{UUID: uuid, State: Unlisted})
			extra.Index = nil
			doc.GPUs = append(doc.GPUs, extra)
		}
		doc.GPUs[at].Processes = append(doc.GPUs[at].Processes, processOf(&snap.Rows[i]))
	}
	return doc
}

func alertOf(a *snapshot.Alert) Alert {
	out := Alert{Kind: string(a.Kind), Severity: SeverityOf(a.Severity), Message: a.Message}
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

// AlertVersion is the schema of AlertDocument, which the command in [alerts] exec reads from
// standard input.
const AlertVersion = "vramscope/alert/1"

// AlertDocument is an alert at the moment it was raised (docs/daemon.md).
type AlertDocument struct {
	Head
	Alert   Alert    `json:"alert"`
	GPU     *GPU     `json:"gpu"`
	Process *Process `json:"process"`
	// Dropped counts the alerts since the previous run that were discarded, because there were too many.
	Dropped int `json:"dropped"`
}

// AlertOf returns the document about an alert of a snapshot.
func AlertOf(snap *snapshot.Snapshot, a *snapshot.Alert) AlertDocument {
	doc := AlertDocument{Head: HeadOf(AlertVersion, snap), Alert: alertOf(a)}
	if g := snap.GPU(a.GPUUUID); g != nil {
		gpu := gpuOf(g)
		for p := range snap.GPURows(g.UUID) {
			gpu.Processes = append(gpu.Processes, processOf(p))
		}
		doc.GPU = &gpu
	}
	if p := snap.Row(a.Row); p != nil {
		doc.Process = new(processOf(p))
	}
	return doc
}
