package socket

import (
	"strings"

	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Other users see only the fields that are copied here one by one: a new field stays hidden until
// it is added here and in testdata/others.txt.

// numbers returns a snapshot for other users: without command lines, jobs, and the names of
// programs, libraries, caches and settings.
func numbers(snap *snapshot.Snapshot) *snapshot.Snapshot {
	if snap == nil {
		return nil
	}
	return &snapshot.Snapshot{
		Time: snap.Time, Simulated: snap.Simulated,
		Host: snapshot.Host{Name: snap.Host.Name, MemoryTotal: snap.Host.MemoryTotal, MemoryUsed: snap.Host.MemoryUsed},
		Driver: snapshot.Driver{
			Version: snap.Driver.Version, CUDAVersion: snap.Driver.CUDAVersion, State: snap.Driver.State, Message: snap.Driver.Message,
			MemoryCall: snap.Driver.MemoryCall, ProbesAnswering: snap.Driver.ProbesAnswering,
		},
		GPUs: schema.List(snap.GPUs, numbersOfGPU), Rows: schema.List(snap.Rows, numbersOf), Alerts: schema.List(snap.Alerts, numbersOfAlert),
		ProbesUnasked: snap.ProbesUnasked, Holders: schema.List(snap.Holders, numbersOfHolder), Guard: numbersOfGuard(snap.Guard),
	}
}

func numbersOfAlert(a *snapshot.Alert) snapshot.Alert {
	return snapshot.Alert{Kind: a.Kind, Severity: a.Severity, GPU: a.GPU, GPUUUID: a.GPUUUID, Row: a.Row, Message: a.Message, Advice: a.Advice}
}

// withoutPaths returns why recording is paused, unless the reason names a file.
func withoutPaths(reason string) string {
	if strings.Contains(reason, "/") {
		return "the daemon's log says why"
	}
	return reason
}

func numbersOfGPU(g *snapshot.GPU) snapshot.GPU {
	return snapshot.GPU{
		Index: g.Index, UUID: g.UUID, Name: g.Name, PCIBusID: g.PCIBusID, State: g.State, Since: g.Since, Message: g.Message,
		Memory: g.Memory, Parts: g.Parts, Sensors: g.Sensors, Throttled: g.Throttled, ECC: g.ECC, NVLinks: g.NVLinks, XIDs: g.XIDs,
		MIG: g.MIG, Instances: g.Instances, Outlook: g.Outlook, Unattributed: g.Unattributed, Holders: schema.List(g.Holders, numbersOfHolder),
	}
}

func numbersOfGuard(g *snapshot.Guard) *snapshot.Guard {
	if g == nil {
		return nil
	}
	return &snapshot.Guard{Mode: g.Mode, ByDaemon: g.ByDaemon, Paused: g.Paused}
}

func numbersOfHolder(h *snapshot.Holder) snapshot.Holder {
	return snapshot.Holder{Process: h.Process, User: h.User}
}

func numbersOf(p *snapshot.Process) snapshot.Process {
	out := snapshot.Process{
		ID: p.ID, User: p.User, Started: p.Started, CPU: p.CPU, Host: p.Host,
		Type: p.Type, SMUtilization: p.SMUtilization, MemoryUtilization: p.MemoryUtilization, EncoderUtilization: p.EncoderUtilization,
		DecoderUtilization: p.DecoderUtilization, Used: p.Used, Runtime: probe.CommonRuntime(p.Runtime), RuntimeVersion: probe.Release(p.RuntimeVersion),
		Allocated: p.Allocated, Cached: p.Cached, Fragmented: p.Fragmented, Asleep: p.Asleep, Returnable: p.Returnable, Other: p.Other,
		Allocators: schema.List(p.Allocators, probe.NumbersOf), Outlook: p.Outlook, PredictedAllocated: p.PredictedAllocated,
	}
	if s := p.Served; s != nil {
		out.Served = &snapshot.Served{Process: s.Process, Name: s.Name, Parts: s.Parts, KVCacheUsed: s.KVCacheUsed, Requests: s.Requests, Asleep: s.Asleep}
	}
	if shared := p.Probe; shared != nil {
		out.Probe = &snapshot.Probe{
			State: shared.State, Age: shared.Age, Rejected: shared.Rejected, Claimed: shared.Claimed, ByDaemon: shared.ByDaemon,
			OutOfMemoryCount: shared.OutOfMemoryCount, AllocRetries: shared.AllocRetries,
		}
	}
	return out
}

// sharedEvent returns an event for other users, nil for kinds that only root and the daemon's user
// may see, such as actions.
func sharedEvent(e *snapshot.Event) *snapshot.Event {
	switch e.Kind {
	case snapshot.EventStarted, snapshot.EventEnded, snapshot.EventGPULost, snapshot.EventGPUBack, snapshot.EventDriverGone, snapshot.EventDriverBack,
		snapshot.EventOutOfMemory, snapshot.EventAlarm, snapshot.EventCleared, snapshot.EventXID:
	default:
		return nil
	}
	out := &snapshot.Event{
		Time: e.Time, Kind: e.Kind, GPU: e.GPU, GPUUUID: e.GPUUUID, Row: e.Row, User: e.User, Severity: e.Severity, Message: e.Message, Bytes: e.Bytes,
	}
	if failure := e.OutOfMemory; failure != nil {
		out.OutOfMemory = &snapshot.OutOfMemory{
			Requested: failure.Requested, Free: failure.Free, Limit: failure.Limit, Allocator: probe.CommonKind(failure.Allocator), Reserved: failure.Reserved,
			Allocated: failure.Allocated, LargestFree: failure.LargestFree,
		}
	}
	return out
}
