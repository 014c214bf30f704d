package socket

import (
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// event is an event, with the identity of its process.
type event struct {
	TimeNS      int64                 `json:"time_ns"`
	Kind        snapshot.EventKind    `json:"kind"`
	Severity    snapshot.Severity     `json:"severity"`
	GPU         int                   `json:"gpu"`
	schema.Row                        // its GPU is the event's
	User        string                `json:"user"`
	Name        string                `json:"name"`
	Message     string                `json:"message"`
	Bytes       snapshot.Bytes        `json:"bytes"`
	OutOfMemory *snapshot.OutOfMemory `json:"out_of_memory,omitempty"`
}

func eventOf(e *snapshot.Event) event {
	out := event{
		TimeNS: e.Time.UnixNano(), Kind: e.Kind, Severity: e.Severity, GPU: e.GPU, Row: schema.RowOf(e.Row),
		User: e.User, Name: e.Name, Message: e.Message, Bytes: e.Bytes, OutOfMemory: e.OutOfMemory,
	}
	out.GPUUUID = e.GPUUUID
	return out
}

func (e *event) snapshot() snapshot.Event {
	out := snapshot.Event{
		Time: time.Unix(0, e.TimeNS), Kind: e.Kind, Severity: min(e.Severity, snapshot.Urgent), GPU: e.GPU, GPUUUID: e.GPUUUID,
		User: e.User, Name: e.Name, Message: e.Message, Bytes: e.Bytes, OutOfMemory: e.OutOfMemory,
	}
	if e.PID > 0 {
		out.Row = e.RowID()
	}
	return out
}
