package schema

import (
	"strings"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

type Process struct {
	PID             int            `json:"pid"`
	StartTime       Time           `json:"start_time"`
	User            Text           `json:"user"`
	Type            Text           `json:"type"`
	MPSLimitBytes   snapshot.Bytes `json:"mps_limit_bytes"`
	MPSThreads      snapshot.Float `json:"mps_active_thread_percent"`
	Runtime         Text           `json:"runtime"`
	Name            Text           `json:"name"`
	Command         Text           `json:"command"`
	Job             Text           `json:"job"`
	JobStep         Text           `json:"job_step"`
	JobNamespace    Text           `json:"job_namespace"`
	JobContainer    Text           `json:"job_container"`
	GPUInstance     *uint32        `json:"gpu_instance"`
	ComputeInstance *uint32        `json:"compute_instance"`
	StartTimeTicks  *uint64        `json:"start_time_ticks"`
	PIDNamespace    *uint64        `json:"pid_namespace"`

	UsedBytes       snapshot.Bytes `json:"used_bytes"`
	AllocatedBytes  snapshot.Bytes `json:"allocated_bytes"`
	CachedBytes     snapshot.Bytes `json:"cached_bytes"`
	FragmentedBytes snapshot.Bytes `json:"fragmented_bytes"`
	OtherBytes      snapshot.Bytes `json:"other_bytes"`
	ReturnableBytes snapshot.Bytes `json:"returnable_bytes"`
	ReturnableBound Text           `json:"returnable_bound"`
	AsleepBytes     snapshot.Bytes `json:"asleep_bytes"`

	Allocators     []Allocator `json:"allocators"`
	RuntimeVersion Text        `json:"runtime_version"`
	Evictable      []Evictable `json:"evictable"`
	Probe          *Probe      `json:"probe"`
	Server         *Server     `json:"server"`

	SMUtilizationPercent      snapshot.Int   `json:"sm_utilization_percent"`
	MemoryUtilizationPercent  snapshot.Int   `json:"memory_utilization_percent"`
	EncoderUtilizationPercent snapshot.Int   `json:"encoder_utilization_percent"`
	DecoderUtilizationPercent snapshot.Int   `json:"decoder_utilization_percent"`
	CPUPercent                snapshot.Float `json:"cpu_percent"`
	HostBytes                 snapshot.Bytes `json:"host_bytes"`
	Predicted                 []Prediction   `json:"predicted"`
	PredictedAllocated        []Prediction   `json:"predicted_allocated"`
	Doubt                     Text           `json:"forecast_doubt"`
}

// Evictable is a cache that a program has registered for flushing.
type Evictable struct {
	Name     Text           `json:"name"`
	Priority float64        `json:"priority"`
	Bytes    snapshot.Bytes `json:"bytes"`
}

// Allocator is the report on one allocator of a process.
type Allocator struct {
	Kind             string                   `json:"kind"`
	Basis            Text                     `json:"basis"`
	ReservedBytes    snapshot.Bytes           `json:"reserved_bytes"`
	AllocatedBytes   snapshot.Bytes           `json:"allocated_bytes"`
	CachedBytes      snapshot.Bytes           `json:"cached_bytes"`
	FragmentedBytes  snapshot.Bytes           `json:"fragmented_bytes"`
	ReturnableBytes  snapshot.Bytes           `json:"returnable_bytes"`
	ReturnableBound  Text                     `json:"returnable_bound"`
	PendingBytes     snapshot.Bytes           `json:"pending_bytes"`
	LargestFreeBytes snapshot.Bytes           `json:"largest_free_bytes"`
	AsleepBytes      snapshot.Bytes           `json:"asleep_bytes"`
	ManagedBytes     snapshot.Bytes           `json:"managed_bytes"`
	Segments         quantity.Optional[int64] `json:"segments"`
	OutOfMemoryCount quantity.Optional[int64] `json:"out_of_memory_count"`
	AllocRetries     quantity.Optional[int64] `json:"alloc_retries"`

	PeakAllocatedBytes snapshot.Bytes           `json:"peak_allocated_bytes"`
	PeakReservedBytes  snapshot.Bytes           `json:"peak_reserved_bytes"`
	Blocks             quantity.Optional[int64] `json:"blocks"`
	StrandedSegments   quantity.Optional[int64] `json:"stranded_segments"`
	FailedAllocations  quantity.Optional[int64] `json:"failed_allocations"`
	Config             Text                     `json:"config"`
	Pools              []Pool                   `json:"pools"`
	Largest            []Allocation             `json:"largest"`
}

// Pool is a part of an allocator.
type Pool struct {
	Name            Text                     `json:"name"`
	ReservedBytes   snapshot.Bytes           `json:"reserved_bytes"`
	AllocatedBytes  snapshot.Bytes           `json:"allocated_bytes"`
	FragmentedBytes snapshot.Bytes           `json:"fragmented_bytes"`
	Segments        quantity.Optional[int64] `json:"segments"`
}

// Allocation is a live allocation.
type Allocation struct {
	Bytes      quantity.Bytes `json:"bytes"`
	AgeSeconds snapshot.Float `json:"age_seconds"`
	API        Text           `json:"api"`
	Library    Text           `json:"library"`
}

// Probe is the state of the probe in a process.
type Probe struct {
	State            string                   `json:"state"`
	AgeSeconds       float64                  `json:"age_seconds"`
	OutOfMemoryCount quantity.Optional[int64] `json:"out_of_memory_count"`
	AllocRetries     quantity.Optional[int64] `json:"alloc_retries"`
	StartedBy        Text                     `json:"started_by"`
	Capabilities     []Text                   `json:"capabilities"`
	Rejected         Text                     `json:"rejected"`
	ClaimedBytes     snapshot.Bytes           `json:"claimed_bytes"`
	Source           string                   `json:"source"`
}

// Server is the report of a watched server about itself, on the row of one of its processes.
type Server struct {
	PID         int                     `json:"pid"`
	Name        Text                    `json:"name"`
	Version     Text                    `json:"version"`
	Reported    Text                    `json:"reported"`
	Refused     Text                    `json:"refused"`
	Parts       []snapshot.ServedPart   `json:"parts"`
	KVCacheUsed snapshot.Float          `json:"kv_cache_used_ratio"`
	Requests    snapshot.Int            `json:"requests"`
	Asleep      quantity.Optional[bool] `json:"asleep"`
	IdleSince   Time                    `json:"idle_since"`
}

func processOf(p *snapshot.Process) Process {
	out := Process{
		PID: p.ID.Process.PID, StartTime: Time(p.Started),
		User: Text(p.User), Type: Text(p.Type), MPSLimitBytes: p.MPSLimit, MPSThreads: p.MPSThreads, Runtime: Text(p.Runtime),
		Name: Text(p.Name), Command: Text(strings.Join(p.Command, " ")), Job: Text(p.Job.String()),
		JobStep: Text(p.Job.Step), JobNamespace: Text(p.Job.Namespace), JobContainer: Text(p.Job.Container),
		UsedBytes: p.Used, AllocatedBytes: p.Allocated, CachedBytes: p.Cached,
		FragmentedBytes: p.Fragmented, OtherBytes: p.Other, ReturnableBytes: p.Returnable,
		ReturnableBound: Text(p.ReturnableBound()), AsleepBytes: p.Asleep,
		Allocators:           List(p.Allocators, allocatorOf),
		RuntimeVersion:       Text(p.RuntimeVersion),
		Evictable:            List(p.Evictable, func(c *snapshot.Evictable) Evictable { return Evictable{Text(c.Name), c.Priority, c.Bytes} }),
		SMUtilizationPercent: p.SMUtilization, MemoryUtilizationPercent: p.MemoryUtilization,
		EncoderUtilizationPercent: p.EncoderUtilization, DecoderUtilizationPercent: p.DecoderUtilization,
		CPUPercent: p.Value(metric.CPU), HostBytes: p.Host,
		Predicted: List(p.Predicted, predictionOf), PredictedAllocated: List(p.PredictedAllocated, predictionOf), Doubt: Text(p.Doubt),
	}
	if instance := p.ID.Instance; instance.MIG {
		out.GPUInstance, out.ComputeInstance = &instance.GPU, &instance.Compute
	}
	if id := p.ID.Process; id.StartTime != 0 {
		out.StartTimeTicks = &id.StartTime
	}
	if id := p.ID.Process; id.Namespace != 0 {
		out.PIDNamespace = &id.Namespace
	}
	if s := p.Served; s != nil {
		out.Server = &Server{s.Process.PID, Text(s.Name), Text(s.Version), Text(s.Words), Text(s.Refused), append([]snapshot.ServedPart{}, s.Parts...), s.KVCacheUsed, s.Requests, s.Asleep, Time(s.IdleSince)}
	}
	if p.Probe != nil {
		out.Probe = &Probe{
			State: string(p.Probe.State), AgeSeconds: p.Probe.Age.Seconds(),
			OutOfMemoryCount: p.Probe.OutOfMemoryCount, AllocRetries: p.Probe.AllocRetries,
			StartedBy: Text(p.Probe.StartedBy), Capabilities: Texts(p.Probe.Capabilities),
			Rejected: Text(p.Probe.Rejected), ClaimedBytes: p.Probe.Claimed,
			Source: map[bool]string{true: "daemon", false: "process"}[p.Probe.ByDaemon], // who asked the probe
		}
	}
	return out
}

func allocatorOf(a *snapshot.Allocator) Allocator {
	return Allocator{
		Kind: a.Kind, Basis: Text(a.Basis),
		ReservedBytes: a.Reserved, AllocatedBytes: a.Allocated, CachedBytes: a.Cached, FragmentedBytes: a.Fragmented,
		ReturnableBytes: a.Returnable, ReturnableBound: Text(a.Bound()), PendingBytes: a.Pending, LargestFreeBytes: a.LargestFree, AsleepBytes: a.Asleep, ManagedBytes: a.Managed,
		Segments: a.Segments, OutOfMemoryCount: a.OutOfMemoryCount, AllocRetries: a.AllocRetries,
		PeakAllocatedBytes: a.PeakAllocated, PeakReservedBytes: a.PeakReserved,
		Blocks: a.Blocks, StrandedSegments: a.StrandedSegments, Config: Text(a.Config),
		FailedAllocations: a.FailedAllocations,
		Pools: List(a.Pools, func(p *snapshot.Pool) Pool {
			return Pool{Text(p.Name), p.Reserved, p.Allocated, p.Fragmented, p.Segments}
		}),
		Largest: List(a.Largest, func(l *snapshot.Allocation) Allocation {
			return Allocation{l.Bytes, l.AgeSeconds, Text(l.API), Text(l.Library)}
		}),
	}
}
