package snapshot

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
)

// History is the past. It is safe for concurrent use while the sampler writes.
type History interface {
	// At rebuilds the snapshot at or just before t: figures, rows, and the state of each GPU. It
	// returns false if the history does not go back that far.
	At(t time.Time) (*Snapshot, bool)
	// Series returns a metric between from and to in equal buckets, one Point for each. A bucket
	// without a sample is a Point that is not Known.
	Series(key SeriesKey, from, to time.Time, buckets int) []Point
	// Span is the time that the history covers; both are zero while it is empty.
	Span() (oldest, newest time.Time)
	// Events returns at most limit events, newest first. A limit of 0 means all.
	Events(limit int) []Event
}

// SeriesKey names one series. If Row is zero, the series is the GPU's or, if Instance.MIG is set,
// the MIG instance's. Otherwise it is the row's.
type SeriesKey struct {
	Metric   metric.ID
	GPUUUID  string
	Instance InstanceID
	Row      RowID
}

// Point is one bucket of a series.
type Point = metric.Point

type EventKind string

const (
	EventStarted     EventKind = "started"
	EventEnded       EventKind = "ended"
	EventGPULost     EventKind = "gpu_lost"
	EventGPUBack     EventKind = "gpu_back"
	EventDriverGone  EventKind = "driver_gone"
	EventDriverBack  EventKind = "driver_back" // also after a reload or an upgrade
	EventOutOfMemory EventKind = "out_of_memory"
	EventAlarm       EventKind = "alarm"
	EventCleared     EventKind = "alarm_cleared"
	EventXID         EventKind = "xid"
	EventFlush       EventKind = "flush"
	EventAttach      EventKind = "attach"
	EventSignal      EventKind = "signal"
	EventFailed      EventKind = "failed" // a flush, an attach or a signal failed: nothing was done, as far as is known
	// An allocation that the driver refused waited for other processes to free memory. Then it succeeded, or not.
	EventRescued    EventKind = "rescued"
	EventNotRescued EventKind = "not_rescued"
	EventIdleServer EventKind = "idle_server" // a server that holds memory has served nothing for a while, by its own report, or serves again
	EventGuard      EventKind = "guard"       // a decision of the guard; a flush by the guard is an EventFlush
)

// Points returns empty buckets of equal width.
func Points(from, to time.Time, buckets int) []Point {
	points := make([]Point, max(buckets, 0))
	for i := range points {
		points[i].Time = from.Add(to.Sub(from) * time.Duration(i+1) / time.Duration(buckets))
	}
	return points
}

// Event is one line of the event log.
type Event struct {
	Time     time.Time
	Kind     EventKind
	GPU      int // index, meaningful if GPUUUID is set
	GPUUUID  string
	Row      RowID
	User     string
	Name     string // the program's name: hostile input
	Severity Severity
	Message  string // "exited, used 60.1G, peak 71.3G, out of memory x1 (allocator)"
	Bytes    quantity.Optional[quantity.Bytes]

	Decision    *GuardDecision // the guard's decision; set also for a flush by the guard
	OutOfMemory *OutOfMemory   // set for an out-of-memory event whose failed allocation the probe has seen
}

// NothingDone reports whether the guard did nothing, or only saw that a goal is reached. The screen
// does not show such events, because there are many.
func (e *Event) NothingDone() bool {
	return e.Decision != nil && (e.Decision.Kind == GuardNothing || e.Decision.Kind == GuardReached)
}

// OutOfMemory is a failed allocation, as its process reports it. Its texts may be hostile.
// Recordings and the daemon's protocol use this JSON.
type OutOfMemory struct {
	Requested   Bytes  `json:"requested_bytes"`
	Free        Bytes  `json:"free_bytes"`      // on the device, as the process saw it
	Limit       Bytes  `json:"limit_bytes"`     // the most that the allocator may reserve: the device's total, or less
	MPSLimit    Bytes  `json:"mps_limit_bytes"` // see Process.MPSLimit
	Allocator   string `json:"allocator"`       // its kind; the next three figures are those of this allocator
	Reserved    Bytes  `json:"reserved_bytes"`
	Allocated   Bytes  `json:"allocated_bytes"`
	LargestFree Bytes  `json:"largest_free_bytes"`
	API         string `json:"api"`     // the driver's function, if known: "cuMemAlloc"
	Library     string `json:"library"` // the library that called it
	Config      string `json:"config"`  // the allocator's settings

	Stack []string    `json:"stack"` // the functions that led to the allocation, innermost first: "train.py:42 in forward"
	Trace string      `json:"trace"` // the directory of run --record-memory, "" for none. Hostile input
	Held  []HeldClass `json:"held"`  // the holders of Allocated, as far as known, largest first
}
