package schema

import (
	"strings"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// GPU is a GPU with its processes.
type GPU struct {
	Index    *int   `json:"index"`
	UUID     string `json:"uuid"`
	Name     Text   `json:"name"`
	PCIBusID Text   `json:"pci_bus_id"`
	State    string `json:"state"`
	Since    Time   `json:"state_since"`
	Message  Text   `json:"message"`

	Memory            Memory         `json:"memory"`
	UnattributedBytes snapshot.Bytes `json:"unattributed_bytes"`
	Holders           []Holder       `json:"holders"`
	Allocation        *JobAllocation `json:"allocation"`
	ReturnableBytes   snapshot.Bytes `json:"returnable_bytes"`

	metric.Sensors
	Throttled []string        `json:"throttled"`
	ECC       metric.ECC      `json:"ecc"`
	NVLinks   []metric.NVLink `json:"nvlinks"`
	XIDs      []XID           `json:"xids"`

	MIG       bool         `json:"mig"`
	Instances []Instance   `json:"instances"`
	FullIn    *FullIn      `json:"full_in"`
	Processes []Process    `json:"processes"`
	Predicted []Prediction `json:"predicted"`
	Doubt     Text         `json:"forecast_doubt"`
}

// Memory is the memory of a GPU or a MIG instance.
type Memory struct {
	TotalBytes    snapshot.Bytes `json:"total_bytes"`
	UsedBytes     snapshot.Bytes `json:"used_bytes"`
	FreeBytes     snapshot.Bytes `json:"free_bytes"`
	ReservedBytes snapshot.Bytes `json:"reserved_bytes"`
	Source        Text           `json:"source"`
}

// XID is a critical error that the driver reported.
type XID struct {
	Code uint64 `json:"code"`
	Time Time   `json:"time"`
}

type Instance struct {
	GPUInstance     uint32         `json:"gpu_instance"`
	ComputeInstance uint32         `json:"compute_instance"`
	UUID            string         `json:"uuid"`
	Profile         Text           `json:"profile"`
	Memory          Memory         `json:"memory"`
	ReturnableBytes snapshot.Bytes `json:"returnable_bytes"`

	FullIn    *FullIn      `json:"full_in"`
	Predicted []Prediction `json:"predicted"`
	Doubt     Text         `json:"forecast_doubt"`
}

// FullIn is when memory will be full: the median and an 80 % interval.
type FullIn struct {
	MedianSeconds   float64  `json:"median_seconds"`
	EarliestSeconds float64  `json:"earliest_seconds"`
	LatestSeconds   *float64 `json:"latest_seconds"`
}

type Prediction struct {
	HorizonSeconds float64        `json:"horizon_seconds"`
	MedianBytes    quantity.Bytes `json:"median_bytes"`
	Lower80Bytes   quantity.Bytes `json:"lower80_bytes"`
	Upper80Bytes   quantity.Bytes `json:"upper80_bytes"`
	Lower95Bytes   quantity.Bytes `json:"lower95_bytes"`
	Upper95Bytes   quantity.Bytes `json:"upper95_bytes"`
}

// Holder is a process that has the driver's device files open and is not in the driver's list of processes.
type Holder struct {
	PID     int  `json:"pid"`
	User    Text `json:"user"`
	Name    Text `json:"name"`
	Command Text `json:"command"`
	Job     Text `json:"job"`
}

// JobAllocation is a job that has the GPU and runs nothing on it.
type JobAllocation struct {
	Job     Text `json:"job"`
	User    Text `json:"user"`
	Account Text `json:"account"`
	Since   Time `json:"since"`
}

func holderOf(h *snapshot.Holder) Holder {
	return Holder{PID: h.Process.PID, User: Text(h.User), Name: Text(h.Name), Command: Text(strings.Join(h.Command, " ")), Job: Text(h.Job.String())}
}

func gpuOf(g *snapshot.GPU) GPU {
	out := GPU{
		Index: &g.Index, UUID: g.UUID, Name: Text(g.Name), PCIBusID: Text(g.PCIBusID),
		State: string(g.State), Since: Time(g.Since), Message: Text(g.Message),
		Memory:            MemoryOf(g.Memory),
		UnattributedBytes: g.Unattributed,
		Holders:           List(g.Holders, holderOf),
		ReturnableBytes:   g.Parts.Returnable,
		Sensors:           g.Finite(),
		Throttled:         append([]string{}, g.Throttled...),
		ECC:               g.ECC,
		NVLinks:           append([]metric.NVLink{}, g.NVLinks...),
		XIDs:              List(g.XIDs, func(x *snapshot.XID) XID { return XID{x.Code, Time(x.Time)} }),
		MIG:               g.MIG,
		Instances:         List(g.Instances, instanceOf),
		Processes:         []Process{},
		FullIn:            FullInOf(g.FullIn),
		Predicted:         List(g.Predicted, predictionOf),
		Doubt:             Text(g.Doubt),
	}
	if a := g.Allocation; a != nil {
		out.Allocation = &JobAllocation{Text(a.Job.String()), Text(a.User), Text(a.Job.Account), Time(a.Since)}
	}
	return out
}

func instanceOf(in *snapshot.Instance) Instance {
	return Instance{
		GPUInstance: in.ID.GPU, ComputeInstance: in.ID.Compute, UUID: in.UUID, Profile: Text(in.Profile),
		Memory: MemoryOf(in.Memory), ReturnableBytes: in.Parts.Returnable,
		FullIn: FullInOf(in.FullIn), Predicted: List(in.Predicted, predictionOf), Doubt: Text(in.Doubt),
	}
}

// MemoryOf converts the memory of a GPU or a MIG instance.
func MemoryOf(m snapshot.Memory) Memory {
	out := Memory{TotalBytes: m.Total, UsedBytes: m.Used, FreeBytes: m.Free, ReservedBytes: m.Reserved}
	switch {
	case m.Used.Known():
		out.Source = Text(m.Used.Source().String())
	case m.Total.Source() == quantity.Probe:
		out.Source = Text(quantity.Probe.String()) // without a driver, a probe reports the total
	}
	return out
}

// FullInOf converts a time to full, or returns nil.
func FullInOf(full *snapshot.FullIn) *FullIn {
	if full == nil {
		return nil
	}
	out := &FullIn{MedianSeconds: full.Median.Seconds(), EarliestSeconds: full.Earliest.Seconds()}
	if full.Latest > 0 {
		out.LatestSeconds = new(full.Latest.Seconds())
	}
	return out
}

func predictionOf(p *snapshot.Prediction) Prediction {
	return Prediction{p.Horizon.Seconds(), p.Median, p.Lower80, p.Upper80, p.Lower95, p.Upper95}
}
