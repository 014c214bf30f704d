package probe

import (
	"fmt"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Version is the protocol's name and major version.
const Version = "vramscope/1"

// The types that the protocol shares with a snapshot.
type (
	Allocator  = snapshot.Allocator
	Pool       = snapshot.Pool
	Allocation = snapshot.Allocation
	Evictable  = snapshot.Evictable
	Holder     = snapshot.HeldClass
)

// Two of the bases of fragmentation.
const (
	Stranded    = snapshot.Stranded
	LargestFree = snapshot.LargestFree
)

// Report is the answer to the command "stats".
type Report struct {
	TimeNS int64                    `json:"time_ns"`        // Unix time of the reading in the probe process
	Steps  quantity.Optional[int64] `json:"steps,omitzero"` // training steps since the program began; unknown if nothing counts them
	// Optimizer is the class that makes the steps, such as "AdamW"; "" if unknown, or if there are several.
	Optimizer string   `json:"optimizer,omitempty"`
	Devices   []Device `json:"devices"`
}

// Device is one GPU as a probe process sees it. UUID is in NVML's form; an index would be ambiguous,
// because CUDA_VISIBLE_DEVICES reorders the indices.
type Device struct {
	UUID       string         `json:"uuid"`
	Total      snapshot.Bytes `json:"total_bytes,omitzero"`
	Allocators []Allocator    `json:"allocators"`
	// OutOfMemory are the newest allocations that failed, the newest last.
	OutOfMemory []FailedAllocation `json:"out_of_memory,omitempty"`
	// Rescues are nil if no allocation waited for memory to be freed.
	Rescues *Rescues `json:"rescues,omitempty"`
}

// Rescues counts refused allocations that waited for the daemon to free what other processes cache.
type Rescues struct {
	Asked     int64  `json:"asked"`     // since the start
	Succeeded int64  `json:"succeeded"` // got their memory
	Last      Rescue `json:"last"`
}

// Rescue is one allocation that waited.
type Rescue struct {
	TimeNS    int64          `json:"time_ns"` // when the wait ended, in Unix time
	Bytes     quantity.Bytes `json:"bytes"`   // asked for
	WaitedMS  int64          `json:"waited_ms"`
	Succeeded bool           `json:"succeeded"`
}

// FailedAllocation is an allocation that failed for lack of memory. If API is set, the driver refused
// the call, and a library may have tried again. If API is "", an allocator returned an error to the
// program.
type FailedAllocation struct {
	TimeNS      int64          `json:"time_ns"`
	Bytes       quantity.Bytes `json:"bytes"` // asked for
	Free        snapshot.Bytes `json:"free_bytes,omitzero"`
	Limit       snapshot.Bytes `json:"limit_bytes,omitzero"` // what the allocator may reserve: the device's memory, or less
	Allocator   string         `json:"allocator,omitempty"`  // its kind; the next figures are that allocator's at that moment
	Reserved    snapshot.Bytes `json:"reserved_bytes,omitzero"`
	Allocated   snapshot.Bytes `json:"allocated_bytes,omitzero"`
	LargestFree snapshot.Bytes `json:"largest_free_bytes,omitzero"`
	API         string         `json:"api,omitempty"`     // "cuMemAlloc"
	Library     string         `json:"library,omitempty"` // whose code made that call
	Stack       []string       `json:"stack,omitempty"`   // the functions that led to it, the innermost first: "train.py:42 in forward"
	Trace       string         `json:"trace,omitempty"`   // the directory of vramscope run --record-memory
	Held        []Holder       `json:"held,omitempty"`    // what held the allocated memory then, as far as it is known, most first
}

// Hello is the answer to the command "hello".
type Hello struct {
	Proto        string    `json:"proto"` // Version, or a later minor version
	PID          int       `json:"pid"`   // in the probe process's own pid namespace
	StartTime    uint64    `json:"starttime"`
	Runtimes     []Runtime `json:"runtimes"`
	Capabilities []string  `json:"capabilities"` // "flush", "snapshot", …
	// Evictable are the caches that the program has registered, in the order in which a selective
	// flush evicts them.
	Evictable []Evictable `json:"evictable,omitempty"`
	// StartedBy is how the probe got into the process: "run", "import",
	// "attach", "preload"; empty if unknown.
	StartedBy string `json:"started_by,omitempty"`
}

// Runtime is a library that owns allocators: PyTorch 2.6.0, JAX 0.11.2.
type Runtime struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Answer has the newest hello and report that a monitor has received from one probe process.
type Answer struct {
	Process process.Identity
	Hello   Hello
	Report  Report
	Since   time.Time // when the monitor found the process; if Daemon, as At
	// At is when the probe took the reading: the report's time_ns, but never later than its arrival.
	// Zero before the first report.
	At time.Time
	// Arrived is when the report first came.
	Arrived time.Time
	Err     error // why the last exchange failed, nil if it did not
	// Exited describes a process that has exited, and whose probe has left a record; nil otherwise.
	Exited *process.Info
	// Daemon reports whether a daemon asked the probe and passed its report on.
	Daemon bool
}

// Level is how much a flush may slow the program down.
type Level string

// The levels, gentlest first.
const (
	Gradual   Level = "gradual"   // the cache down to KeepBytes
	Selective Level = "selective" // the program's evictable caches by priority, then its allocators' cache
	Urgent    Level = "urgent"    // as selective, and also Python's garbage and cuFFT's plans, on all devices
)

// FlushRequest asks a probe process to free cached memory. A gradual flush in steps is several
// requests with a falling KeepBytes.
type FlushRequest struct {
	Level Level `json:"level"`
	// KeepBytes is how much returnable memory the process may keep on each device. An allocator that
	// can only free everything (PyTorch) does so, with a note.
	KeepBytes quantity.Bytes `json:"keep_bytes"`
	DryRun    bool           `json:"dry_run"` // report what would happen, and do nothing
	// Devices limits the flush to these UUIDs; empty means all that the process uses. An allocator
	// that can only flush all devices does so, with a note.
	Devices []string `json:"devices,omitempty"`
}

func (r *FlushRequest) check() *Error {
	switch r.Level {
	case Gradual, Selective, Urgent:
	default:
		return failure(BadRequest, "level is %q; it can be gradual, selective or urgent", clip(string(r.Level)))
	}
	if !plausible(r.KeepBytes) {
		return failure(BadRequest, "keep_bytes is %d", r.KeepBytes)
	}
	return checkDevices(r.Devices)
}

// FlushResult is what a flush did, as measured; in a dry run, what it would do.
type FlushResult struct {
	Level   Level     `json:"level"`
	DryRun  bool      `json:"dry_run"`
	Devices []Flushed `json:"devices"`
	// SkippedReason is why nothing was freed, or less than requested: "a graph capture was running".
	// Empty if the flush ran as requested.
	SkippedReason string   `json:"skipped_reason,omitempty"`
	Notes         []string `json:"notes,omitempty"`
	Milliseconds  float64  `json:"ms"`
}

// Flushed is one device's part of a flush. BeforeBytes and AfterBytes are what the allocators
// reserve; in a dry run AfterBytes is an estimate. FreedBytes, the difference, is negative if the
// program allocated in between.
type Flushed struct {
	UUID        string         `json:"uuid"`
	BeforeBytes quantity.Bytes `json:"before_bytes"`
	AfterBytes  quantity.Bytes `json:"after_bytes"`
	FreedBytes  quantity.Bytes `json:"freed_bytes"`
	// CollectedBytes is the memory of tensors in reference cycles that Python's collector freed.
	CollectedBytes snapshot.Bytes `json:"collected_bytes,omitzero"`
}

func (r *FlushResult) check() error {
	if len(r.Devices) > maxDevices {
		return fmt.Errorf("%d devices", len(r.Devices))
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		switch {
		case !wellFormedUUID(d.UUID):
			return fmt.Errorf("device %q is not a UUID in NVML's form", clip(d.UUID))
		case !plausible(d.BeforeBytes) || !plausible(d.AfterBytes):
			return fmt.Errorf("device %s went from %d to %d bytes", d.UUID, d.BeforeBytes, d.AfterBytes)
		case !possible(&d.CollectedBytes):
			return fmt.Errorf("device %s collected %d bytes", d.UUID, d.CollectedBytes.Or(0))
		case d.FreedBytes != d.BeforeBytes-d.AfterBytes:
			return fmt.Errorf("device %s freed %d bytes, which is not before minus after", d.UUID, d.FreedBytes)
		}
	}
	r.SkippedReason, r.Notes = clip(r.SkippedReason), clipAll(r.Notes, maxNotes)
	return checkDuration(r.Milliseconds)
}
