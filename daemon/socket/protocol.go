package socket

import (
	"errors"
	"fmt"
	"time"

	"vramscope/guard"
	"vramscope/metric"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Version is the protocol's name and major version.
const Version = "vramscope-daemon/1"

// The limits of the protocol.
const (
	maxRequest = 4 << 10            // bytes of a line from a client
	maxAnswer  = 16 << 20           // bytes of a line from a daemon
	maxBuckets = 2048               // in one answer about a series
	maxSpan    = 8 * 24 * time.Hour // of a series
	maxEvents  = 2000
	maxUUID    = 96
	maxPause   = 24 * time.Hour // of the guard
	maxAsked   = 1 << 50        // bytes of one allocation, or of a lease on one GPU
	maxLeased  = 64             // GPUs of a lease
	maxLeases  = 4096
	maxWait    = 7 * 24 * time.Hour // of a lease: the wait for it, its length, its TTL
)

const (
	cmdHello    = "hello"
	cmdSnapshot = "snapshot" // the newest
	cmdReports  = "reports"  // what the probes report
	cmdAt       = "at"       // a moment of the past
	cmdSeries   = "series"
	cmdSpan     = "span"
	cmdEvents   = "events"
	cmdGuard    = "guard"       // the guard's state
	cmdPause    = "guard_pause" // makes the guard do nothing for a while
	cmdRescue   = "rescue"      // frees memory for an allocation that has failed
	cmdRescued  = "rescued"     // the outcome of a rescue
	cmdClaim    = "lease_claim"
	cmdRenew    = "lease_renew"
	cmdRelease  = "lease_release"
	cmdLeases   = "leases"
)

// request is a line from a client.
type request struct {
	ID    uint64 `json:"id"`
	Cmd   string `json:"cmd"`
	Proto string `json:"proto,omitempty"` // of hello

	TimeNS int64 `json:"time_ns,omitempty"` // of at
	Limit  int   `json:"limit,omitempty"`   // of events
	ForNS  int64 `json:"for_ns,omitempty"`  // of guard_pause; 0 ends a pause

	// For series.
	Metric          string  `json:"metric,omitempty"`
	GPU             string  `json:"gpu,omitempty"`
	GPUInstance     *uint32 `json:"gpu_instance,omitempty"`
	ComputeInstance *uint32 `json:"compute_instance,omitempty"`
	PID             int     `json:"pid,omitempty"`
	StartTime       uint64  `json:"start_time_ticks,omitempty"`
	Namespace       uint64  `json:"pid_namespace,omitempty"`
	FromNS          int64   `json:"from_ns,omitempty"`
	ToNS            int64   `json:"to_ns,omitempty"`
	Buckets         int     `json:"buckets,omitempty"`

	// Bytes is for rescue, with GPU; Succeeded and WaitedMS are for rescued.
	Bytes     int64 `json:"bytes,omitempty"`
	Succeeded bool  `json:"succeeded,omitempty"`
	WaitedMS  int64 `json:"waited_ms,omitempty"`

	// For leases: a claim has Bytes for each GPU, and PID or Self if it is for a process.
	Lease    string   `json:"lease,omitempty"` // in a claim: the ID of a wait whose connection was lost
	Count    int      `json:"count,omitempty"`
	GPUs     []string `json:"gpus,omitempty"` // the acceptable ones; none: all
	Self     bool     `json:"self,omitempty"` // the claim is for the process that asks
	LengthNS int64    `json:"length_ns,omitempty"`
	TTLNS    int64    `json:"ttl_ns,omitempty"`
	WaitNS   int64    `json:"wait_ns,omitempty"`
	Parent   string   `json:"parent,omitempty"`
	Command  string   `json:"command,omitempty"`
}

// Status is a daemon's state.
type Status struct {
	Proto      string      `json:"proto"`
	PID        int         `json:"pid"`
	UID        int         `json:"uid"`
	Since      schema.Time `json:"since"`
	IntervalNS int64       `json:"interval_ns"`
	Simulated  bool        `json:"simulated"`
	// Recording is "recording", "paused" or "off"; Reason is why it is paused.
	Recording string `json:"recording"`
	Reason    string `json:"reason"`
	Leases    bool   `json:"leases"` // the daemon keeps leases
	// View is "all" for root and the daemon's user, "numbers" for others.
	View string `json:"view"`
}

// The views.
const (
	ViewAll     = "all"
	ViewNumbers = "numbers"
)

// answer is a line from the daemon. It has only the fields of its command.
type answer struct {
	ID    uint64       `json:"id"`
	OK    bool         `json:"ok"`
	Error *probe.Error `json:"error,omitempty"`

	Status    *Status          `json:"daemon,omitempty"`
	Snapshot  *schema.Document `json:"snapshot,omitempty"`
	Processes []probe.Relayed  `json:"processes,omitempty"`
	Points    []point          `json:"points,omitempty"`
	OldestNS  int64            `json:"oldest_ns,omitempty"`
	NewestNS  int64            `json:"newest_ns,omitempty"`
	Events    []event          `json:"events,omitempty"`
	Guard     *schema.Guard    `json:"guard,omitempty"`
	Rescue    *guard.Room      `json:"rescue,omitempty"`
	Lease     *schema.Lease    `json:"lease,omitempty"`
	Waiting   *schema.Lease    `json:"waiting,omitempty"` // another answer follows
	Leases    []schema.Lease   `json:"leases,omitempty"`
}

// point is a bucket of a series: last, minimum and maximum; null if unknown.
type point *[3]int64

var errRequest = errors.New("not a request")

// check returns the mistake in a request's fields.
func (r *request) check() error {
	switch {
	case r.ID > 1<<53:
		return fmt.Errorf("%w: id is %d", errRequest, r.ID)
	case r.ForNS < 0 || r.ForNS > int64(maxPause):
		return fmt.Errorf("%w: for_ns is %d: at most %s", errRequest, r.ForNS, maxPause)
	case len(r.GPU) > maxUUID:
		return fmt.Errorf("%w: gpu has %d bytes", errRequest, len(r.GPU))
	case r.Cmd == cmdRescue && (r.GPU == "" || r.Bytes <= 0 || r.Bytes > maxAsked):
		return fmt.Errorf("%w: a rescue needs a gpu, and bytes from 1 to %d", errRequest, int64(maxAsked))
	case r.WaitedMS < 0:
		return fmt.Errorf("%w: waited_ms is %d", errRequest, r.WaitedMS)
	case r.Cmd == cmdClaim || r.Cmd == cmdRenew:
		return r.checkLease()
	case r.Cmd != cmdSeries:
		return nil
	case r.Buckets < 1 || r.Buckets > maxBuckets:
		return fmt.Errorf("%w: buckets is %d: 1 to %d", errRequest, r.Buckets, maxBuckets)
	case r.ToNS <= r.FromNS || r.FromNS < 0:
		return fmt.Errorf("%w: from_ns to to_ns is no time", errRequest)
	case time.Duration(r.ToNS-r.FromNS) > maxSpan:
		return fmt.Errorf("%w: from_ns to to_ns is %v: at most %v", errRequest, time.Duration(r.ToNS-r.FromNS), maxSpan)
	case metric.Named(r.Metric) == metric.Count:
		return fmt.Errorf("%w: there is no such metric", errRequest)
	}
	return nil
}

func (r *request) key() snapshot.SeriesKey {
	row := schema.Row{
		PID: r.PID, StartTimeTicks: r.StartTime, PIDNamespace: r.Namespace, GPUUUID: r.GPU, GPUInstance: r.GPUInstance, ComputeInstance: r.ComputeInstance,
	}
	key := snapshot.SeriesKey{Metric: metric.Named(r.Metric), GPUUUID: r.GPU, Instance: row.RowID().Instance}
	if r.PID != 0 {
		key.Row = row.RowID()
	}
	return key
}

// seriesRequest is the inverse of key.
func seriesRequest(key snapshot.SeriesKey, from, to time.Time, buckets int) request {
	id := key.Row
	if id == (snapshot.RowID{}) {
		id = snapshot.RowID{GPUUUID: key.GPUUUID, Instance: key.Instance}
	}
	row := schema.RowOf(id)
	return request{
		Cmd: cmdSeries, Metric: metric.Table[key.Metric].Name, FromNS: from.UnixNano(), ToNS: to.UnixNano(), Buckets: buckets,
		PID: row.PID, StartTime: row.StartTimeTicks, Namespace: row.PIDNamespace, GPU: row.GPUUUID, GPUInstance: row.GPUInstance, ComputeInstance: row.ComputeInstance,
	}
}

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
