package socket

import (
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// event is an event, with the identity of its process.
type event struct {
	TimeNS          int64          `json:"time_ns"`
	Kind            string         `json:"kind"`
	Severity        uint8          `json:"severity"`
	GPU             int            `json:"gpu"`
	UUID            string         `json:"gpu_uuid"`
	PID             int            `json:"pid"`
	StartTime       uint64         `json:"start_time_ticks"`
	Namespace       uint64         `json:"pid_namespace"`
	GPUInstance     *uint32        `json:"gpu_instance"`
	ComputeInstance *uint32        `json:"compute_instance"`
	User            string         `json:"user"`
	Name            string         `json:"name"`
	Message         string         `json:"message"`
	Bytes           snapshot.Bytes `json:"bytes"`
	// OutOfMemory is the allocation that failed, where the process reported it.
	OutOfMemory *outOfMemory `json:"out_of_memory,omitempty"`
}

// outOfMemory is a snapshot.OutOfMemory. Others than the owner and root get its figures.
type outOfMemory struct {
	Requested   snapshot.Bytes `json:"requested_bytes"`
	Free        snapshot.Bytes `json:"free_bytes"`
	Limit       snapshot.Bytes `json:"limit_bytes"`
	Allocator   string         `json:"allocator"`
	Reserved    snapshot.Bytes `json:"reserved_bytes"`
	Allocated   snapshot.Bytes `json:"allocated_bytes"`
	LargestFree snapshot.Bytes `json:"largest_free_bytes"`
	API         string         `json:"api"`
	Library     string         `json:"library"`
	Config      string         `json:"config"`
}

func eventOf(e *snapshot.Event) event {
	out := event{
		TimeNS: e.Time.UnixNano(), Kind: string(e.Kind), Severity: uint8(e.Severity), GPU: e.GPU, UUID: e.GPUUUID,
		PID: e.Row.Process.PID, StartTime: e.Row.Process.StartTime, Namespace: e.Row.Process.Namespace,
		User: utf8Of(e.User), Name: utf8Of(e.Name), Message: utf8Of(e.Message), Bytes: e.Bytes,
	}
	out.GPUInstance, out.ComputeInstance = instanceFields(e.Row.Instance)
	if of := e.OutOfMemory; of != nil {
		out.OutOfMemory = &outOfMemory{
			of.Requested, of.Free, of.Limit, utf8Of(of.Allocator), of.Reserved, of.Allocated, of.LargestFree,
			utf8Of(of.API), utf8Of(of.Library), utf8Of(of.Config),
		}
	}
	return out
}

func (e *event) snapshot() snapshot.Event {
	out := snapshot.Event{
		Time: time.Unix(0, e.TimeNS), Kind: snapshot.EventKind(e.Kind), Severity: min(snapshot.Severity(e.Severity), snapshot.Urgent),
		GPU: e.GPU, GPUUUID: e.UUID, User: e.User, Name: e.Name, Message: e.Message, Bytes: e.Bytes,
	}
	if of := e.OutOfMemory; of != nil {
		out.OutOfMemory = (*snapshot.OutOfMemory)(of)
	}
	if e.PID > 0 {
		out.Row = snapshot.RowID{
			Process: process.Identity{PID: e.PID, StartTime: e.StartTime, Namespace: e.Namespace},
			GPUUUID: e.UUID, Instance: instanceOf(e.GPUInstance, e.ComputeInstance),
		}
	}
	return out
}
