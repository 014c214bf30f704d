package probe

import (
	"fmt"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

// Version is the protocol's name and major version.
const Version = "vramscope/1"

// Bound says how the memory that a flush frees may differ from the prediction.
type Bound string

// The bounds.
const (
	Most  Bound = "most"  // it may free less
	Least Bound = "least" // it may free more
	About Bound = "about" // it may free less or more
)

// Basis says how an allocator's fragmentation is determined.
type Basis string

// The three bases.
const (
	Stranded    Basis = "stranded"     // PyTorch: inactive split blocks are fragmented
	LargestFree Basis = "largest_free" // best fit with coalescing: the largest free block is cached, the rest fragmented
	PostFlush   Basis = "post_flush"   // pools: unknown until a flush, then what the flush could not free
)

// Report is the answer to the command "stats".
type Report struct {
	TimeNS int64  `json:"time_ns"`         // Unix time of the reading in the probe process
	Steps  *int64 `json:"steps,omitempty"` // training steps since the program began; nil where nothing counts them
	// Optimizer is the class that makes the steps, "AdamW"; "" if unknown, or if there are several.
	Optimizer string   `json:"optimizer,omitempty"`
	Devices   []Device `json:"devices"`
}

// Device is one GPU as a probe process sees it. UUID is in NVML's form:
// CUDA_VISIBLE_DEVICES reorders indices, so an index would name nothing.
type Device struct {
	UUID       string          `json:"uuid"`
	TotalBytes *quantity.Bytes `json:"total_bytes,omitempty"`
	Allocators []Allocator     `json:"allocators"`
	// OutOfMemory are the newest allocations that failed, the newest last.
	OutOfMemory []FailedAllocation `json:"out_of_memory,omitempty"`
	// Rescues are nil where no allocation waited for memory to be freed.
	Rescues *Rescues `json:"rescues,omitempty"`
}

// Rescues counts allocations that the driver refused, and that waited for the daemon
// to free what other processes cache.
type Rescues struct {
	Asked     int64  `json:"asked"`     // since the start
	Succeeded int64  `json:"succeeded"` // got their memory
	Last      Rescue `json:"last"`
}

// Rescue is one allocation that waited.
type Rescue struct {
	TimeNS    int64          `json:"time_ns"` // its end
	Bytes     quantity.Bytes `json:"bytes"`   // asked for
	WaitedMS  int64          `json:"waited_ms"`
	Succeeded bool           `json:"succeeded"`
}

// FailedAllocation is an allocation that failed for lack of memory. With an API it
// is a call that the driver refused, after which a library may have tried again;
// without one it is an error that the program got from an allocator.
type FailedAllocation struct {
	TimeNS           int64           `json:"time_ns"`
	Bytes            quantity.Bytes  `json:"bytes"` // asked for
	FreeBytes        *quantity.Bytes `json:"free_bytes,omitempty"`
	LimitBytes       *quantity.Bytes `json:"limit_bytes,omitempty"` // what the allocator may reserve: the device's memory, or less
	Allocator        string          `json:"allocator,omitempty"`   // its kind; the next figures are its own at that moment
	ReservedBytes    *quantity.Bytes `json:"reserved_bytes,omitempty"`
	AllocatedBytes   *quantity.Bytes `json:"allocated_bytes,omitempty"`
	LargestFreeBytes *quantity.Bytes `json:"largest_free_bytes,omitempty"`
	API              string          `json:"api,omitempty"`     // "cuMemAlloc"
	Library          string          `json:"library,omitempty"` // whose code made that call
	Stack            []string        `json:"stack,omitempty"`   // the functions that led to it, the innermost first: "train.py:42 in forward"
	Trace            string          `json:"trace,omitempty"`   // the directory of vramscope run --record-memory
	Held             []Holder        `json:"held,omitempty"`    // what held the allocated memory then, as far as it is known, most first
}

// Holder is a class of holders, or one variable of a class, by name.
type Holder struct {
	Class HeldBy         `json:"class"`
	Name  string         `json:"name,omitempty"`
	Bytes quantity.Bytes `json:"bytes"`
}

// Allocator is one allocator's stats. A nil figure is one it does not report.
type Allocator struct {
	Kind   string `json:"kind"`             // "pytorch", "cuda_pool", "cupy", "rmm", "jax", "tensorflow", "raw"
	Handle uint64 `json:"handle,omitempty"` // pool handle: two libraries on one CUDA pool are one allocator
	Basis  Basis  `json:"basis,omitempty"`
	// ReturnableBound is empty if a flush frees exactly ReturnableBytes; with PostFlush it is Most.
	ReturnableBound Bound `json:"returnable_bound,omitempty"`

	ReservedBytes    *quantity.Bytes `json:"reserved_bytes,omitempty"`
	AllocatedBytes   *quantity.Bytes `json:"allocated_bytes,omitempty"`
	CachedBytes      *quantity.Bytes `json:"cached_bytes,omitempty"`
	FragmentedBytes  *quantity.Bytes `json:"fragmented_bytes,omitempty"`
	ReturnableBytes  *quantity.Bytes `json:"returnable_bytes,omitempty"`
	PendingBytes     *quantity.Bytes `json:"pending_bytes,omitempty"` // freed by the program, still in use by the GPU's streams
	LargestFreeBytes *quantity.Bytes `json:"largest_free_bytes,omitempty"`
	AsleepBytes      *quantity.Bytes `json:"asleep_bytes,omitempty"`  // unmapped, with its addresses kept: part of no other figure
	ManagedBytes     *quantity.Bytes `json:"managed_bytes,omitempty"` // shared by host and GPU, wherever its pages are: part of no other figure
	Segments         *int64          `json:"segments,omitempty"`
	OutOfMemoryCount *int64          `json:"out_of_memory_count,omitempty"`
	AllocRetries     *int64          `json:"alloc_retries,omitempty"`
	// FailedAllocations are calls that the driver refused for lack of memory. A
	// library may have tried again, so they are not errors of the program's.
	FailedAllocations *int64 `json:"failed_allocations,omitempty"`

	// Peaks are the highest values since the process began, or since the program has reset them.
	PeakAllocatedBytes *quantity.Bytes `json:"peak_allocated_bytes,omitempty"`
	PeakReservedBytes  *quantity.Bytes `json:"peak_reserved_bytes,omitempty"`
	Blocks             *int64          `json:"blocks,omitempty"`            // live blocks; of "raw", live allocations
	StrandedSegments   *int64          `json:"stranded_segments,omitempty"` // segments with fragmented memory
	Config             string          `json:"config,omitempty"`            // its configuration, in its own syntax
	Pools              []Pool          `json:"pools,omitempty"`             // their figures sum to the allocator's
	Largest            []Allocation    `json:"largest,omitempty"`           // largest live allocations, largest first
}

// Pool is a part of an allocator: PyTorch keeps small blocks (up to 1 MiB) apart from large ones.
type Pool struct {
	Name            string          `json:"name"` // "small", "large"
	ReservedBytes   *quantity.Bytes `json:"reserved_bytes,omitempty"`
	AllocatedBytes  *quantity.Bytes `json:"allocated_bytes,omitempty"`
	FragmentedBytes *quantity.Bytes `json:"fragmented_bytes,omitempty"`
	Segments        *int64          `json:"segments,omitempty"`
}

// Allocation is one live allocation.
type Allocation struct {
	Bytes      quantity.Bytes `json:"bytes"`
	AgeSeconds *float64       `json:"age_seconds,omitempty"`
	API        string         `json:"api,omitempty"`     // the call that made it: "cuMemAlloc", "cuMemCreate"
	Library    string         `json:"library,omitempty"` // whose code made that call: "libcublas.so.12"
}

// Hello is the answer to the command "hello".
type Hello struct {
	Proto        string    `json:"proto"` // Version
	PID          int       `json:"pid"`   // in the probe process's own pid namespace
	StartTime    uint64    `json:"starttime"`
	Runtimes     []Runtime `json:"runtimes"`
	Capabilities []string  `json:"capabilities"` // "flush", "snapshot", …
	// Evictable names the caches that the program has registered, in the order in
	// which a selective flush evicts them.
	Evictable []Evictable `json:"evictable,omitempty"`
	// StartedBy is how the probe got into the process: "run", "import",
	// "attach", "preload"; empty if unknown.
	StartedBy string `json:"started_by,omitempty"`
}

// Evictable is a cache of the program itself that a flush may empty, highest priority first.
type Evictable struct {
	Name     string  `json:"name"`
	Priority float64 `json:"priority"`
	// Bytes is its size as the program reports it; nil if it does not.
	Bytes *quantity.Bytes `json:"bytes,omitempty"`
}

// Runtime is a library that owns allocators: PyTorch 2.6.0, JAX 0.11.2.
type Runtime struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Answer is the newest report that a monitor has received from one probe process.
type Answer struct {
	Process process.Identity
	Hello   Hello
	Report  Report
	Since   time.Time // when the monitor found it
	// At is when the report was read, on the monitor's clock: its own time_ns,
	// never later than its arrival. Zero before the first report.
	At time.Time
	// Arrived is when the report first came: it was read between At and Arrived.
	Arrived time.Time
	Err     error // why the last exchange failed, nil if it did not
	// Exited describes a process of which only the record is left; nil otherwise.
	Exited *process.Info
	// Daemon reports that a daemon asked the probe, and passed its report on.
	Daemon bool
}

// Level is how much a flush may slow the program down.
type Level string

// The levels, gentlest first.
const (
	Gradual   Level = "gradual"   // the cache down to KeepBytes
	Selective Level = "selective" // the program's evictable caches by priority, then its allocators' cache
	Urgent    Level = "urgent"    // as selective, and everything else that can be collected, on all devices
)

// FlushRequest asks a probe process to free cached memory.
//
// A gradual flush in steps is several requests with a falling KeepBytes: to stop
// it, the monitor sends no further one.
type FlushRequest struct {
	Level Level `json:"level"`
	// KeepBytes is how much of its returnable memory the process may keep on each device. An
	// allocator that can only free everything (PyTorch) does so, with a note.
	KeepBytes quantity.Bytes `json:"keep_bytes"`
	DryRun    bool           `json:"dry_run"` // report what would happen, and do nothing
	// Devices limits the flush to these UUIDs; empty means all that the process
	// uses. An allocator that flushes all devices at once does so, with a note.
	Devices []string `json:"devices,omitempty"`
}

// check returns the error of an invalid request.
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

// FlushResult is what a flush did, as measured.
type FlushResult struct {
	Level   Level     `json:"level"`
	DryRun  bool      `json:"dry_run"`
	Devices []Flushed `json:"devices"`
	// SkippedReason says why nothing, or less than requested, was freed: "a graph
	// capture was running". Empty if the flush ran as requested.
	SkippedReason string   `json:"skipped_reason,omitempty"`
	Notes         []string `json:"notes,omitempty"`
	Milliseconds  float64  `json:"ms"`
}

// Flushed is one device's part of a flush. Before and After are the sums of the
// allocators' reserved memory; in a dry run After is an estimate. Freed is the
// difference, negative if the program allocated in between.
type Flushed struct {
	UUID        string         `json:"uuid"`
	BeforeBytes quantity.Bytes `json:"before_bytes"`
	AfterBytes  quantity.Bytes `json:"after_bytes"`
	FreedBytes  quantity.Bytes `json:"freed_bytes"`
	// CollectedBytes are tensors that were in reference cycles, and went with Python's garbage.
	CollectedBytes *quantity.Bytes `json:"collected_bytes,omitempty"`
}

// check returns what is impossible in a result.
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
		case d.CollectedBytes != nil && !plausible(*d.CollectedBytes):
			return fmt.Errorf("device %s collected %d bytes", d.UUID, *d.CollectedBytes)
		case d.FreedBytes != d.BeforeBytes-d.AfterBytes:
			return fmt.Errorf("device %s freed %d bytes, which is not before minus after", d.UUID, d.FreedBytes)
		}
	}
	r.SkippedReason, r.Notes = clip(r.SkippedReason), clipAll(r.Notes, maxNotes)
	return checkDuration(r.Milliseconds)
}
