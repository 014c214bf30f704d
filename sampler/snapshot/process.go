package snapshot

import (
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

// RowID identifies a row: a process on a GPU or MIG instance. Its zero value is no row.
type RowID struct {
	Process  process.Identity
	GPUUUID  string
	Instance InstanceID
}

// Trend is the behaviour of a process's memory.
type Trend uint8

const (
	TrendUnknown Trend = iota // not observed by a forecaster
	TrendYoung                // too few samples to say
	TrendSteady
	TrendGrowing
	TrendShrinking
	TrendSawtooth
	TrendLeak
)

// Process is one row: a process on one GPU or MIG instance.
type Process struct {
	ID  RowID
	GPU int // index of the GPU

	// From /proc. Empty or unknown for a foreign process.
	Parent  int
	User    string // "" if unknown: shown as "?"
	UID     quantity.Optional[uint32]
	Name    string   // comm
	Command []string // argv from /proc: hostile input
	Started time.Time
	Job     process.Job
	Hints   process.Hints
	CPU     Float // per cent of one core
	Host    Bytes // resident host memory

	// From the driver, except for the MPS limits.
	Type          string // "C", "G", "C+G", "M+C"
	MPSLimit      Bytes  // memory limit of an MPS client, from its environment; the server's limit may be lower
	MPSThreads    Float  // per cent of the threads that an MPS client may use, from its environment
	SMUtilization Int
	// Shares of the time in which memory was accessed, or the video encoder or decoder ran.
	MemoryUtilization, EncoderUtilization, DecoderUtilization Int
	Used                                                      Bytes

	// From a probe; unknown without one.
	Runtime        string // "PyTorch", "JAX"; "" if unknown
	RuntimeVersion string
	Allocated      Bytes
	Cached         Bytes
	Fragmented     Bytes
	Returnable     Bytes // the memory that a flush frees, of cached and of pending memory
	Asleep         Bytes // asleep: its allocators keep the addresses, without memory behind them; part of no other figure
	Other          Bytes // used − Σ reserved; may be negative, by Tolerance at most
	Allocators     []Allocator
	Evictable      []Evictable // in the order in which a selective flush evicts them
	Probe          *Probe      // nil if there is none
	Served         *Served     // nil if the process belongs to no watched server

	// Steps are the training steps since the program began; unknown if nothing counts them.
	Steps quantity.Optional[int64]
	// Optimizer is the class of the optimizer that makes the steps, "AdamW"; "" if unknown. Hostile input.
	Optimizer string

	Peak            Bytes // highest Used since vramscope first saw the row
	Trend           Trend
	GrowthPerSecond Bytes // of used memory, or of allocated memory if only that leaks; negative if memory shrinks
	Outlook               // of Used, without FullIn, because other processes can fill the GPU too
	// PredictedAllocated is the forecast of Allocated, if a probe reports it.
	PredictedAllocated []Prediction
	Demand             Demand // DemandOf computes it for a past moment
}

// ProgramName returns the program's name: "train.py" if comm is "python3.11". It is hostile input.
func (p *Process) ProgramName() string {
	name, _, _ := strings.Cut(process.ShortCommand(p.Command, p.Name), " ")
	return name
}

// Reserved returns the memory that the allocators reserve; unknown if no part of it is known.
func (p *Process) Reserved() Bytes { return quantity.Sum(p.Allocated, p.Cached, p.Fragmented) }

// EvictableBytes returns the sum of the known sizes of the program's own caches.
func (p *Process) EvictableBytes() Bytes {
	var sum Bytes
	for i := range p.Evictable {
		sum = quantity.Sum(sum, p.Evictable[i].Bytes)
	}
	return sum
}

// Unreturnable returns the memory that is free inside the process and that no flush frees: fragmented,
// or cached by an allocator that keeps it.
func (p *Process) Unreturnable() Bytes {
	cached, ok := p.Cached.Value()
	if !ok {
		return p.Fragmented
	}
	return quantity.From(p.Fragmented.Or(0)+cached-p.FlushableCache().Or(0), quantity.Computed)
}

// FlushableCache returns the cached memory that a flush frees.
func (p *Process) FlushableCache() Bytes {
	cached, ok := p.Cached.Value()
	if !ok {
		return p.Cached
	}
	return quantity.From(min(cached, p.Returnable.Or(cached)), quantity.Computed)
}

// Kept returns the memory that stays allocated after a flush, which also frees pending memory.
func (p *Process) Kept() Bytes {
	allocated, ok := p.Allocated.Value()
	if !ok {
		return p.Allocated
	}
	freed := max(p.Returnable.Or(0)-p.Cached.Or(p.Returnable.Or(0)), 0)
	return quantity.From(max(allocated-freed, 0), quantity.Computed)
}

// ProbeState says how old a probe's stats are.
type ProbeState string

// The states. Stale stats are shown with their age. The stats of a silent probe are not shown.
const (
	ProbeLive   ProbeState = "live"
	ProbeStale  ProbeState = "stale"
	ProbeSilent ProbeState = "silent"
)

// Probe is the probe of a process.
type Probe struct {
	State            ProbeState
	Age              time.Duration // time since its last report, or since its silence began
	Mismatch         bool          // in three readings in a row, the parts exceed used memory
	Doubted          bool          // its figures are unknown until the driver's next readings show whether they are possible
	Skewed           bool          // Other is unknown until both the driver and the probe have been read again
	Rejected         string        // why its figures are unknown: "reports 512T, the driver 13.0G"; "" if they are not rejected
	Claimed          Bytes         // the memory of its allocators by its own report, if the figures are doubted or rejected but would fit the GPU
	StartedBy        string        // "run", "import", "attach", "preload"; "" if unknown
	Capabilities     []string      // "flush", "snapshot"
	ByDaemon         bool          // the daemon asked the probe, because this user may not
	OutOfMemoryCount quantity.Optional[int64]
	AllocRetries     quantity.Optional[int64]
}

// Served is a watched server's report about itself and all its processes. A report that exceeds the
// driver's figures for the processes is refused.
type Served struct {
	Process process.Identity // the process that listens
	Name    string           // "vLLM"
	Version string           // hostile input, as are Command and Words
	Command string           // as the monitor shows it
	Words   string           // "KV cache 12 % in use"
	Refused string           // why its figures are unknown: "reports 512T, the driver 13.0G"; "" if they are not refused

	Parts       []ServedPart // "kv_cache", "weights", "graphs", "models"
	KVCacheUsed Float        // a share, 0 to 1
	Requests    Int          // that run or wait
	Asleep      quantity.Optional[bool]
	Releases    Bytes     // how much the server should free when it releases its memory
	IdleSince   time.Time // since when it has had no request and the driver reports no work; zero: not idle
}

// ServedPart is a part of a server's memory, by the server's own report.
type ServedPart struct {
	Name  string         `json:"name"`
	Bytes quantity.Bytes `json:"bytes"`
}

// Report returns the server's report in words, or "" if it reports nothing.
func (s *Served) Report() string {
	if s.Refused != "" {
		return "refused: it " + s.Refused
	}
	return s.Words
}

// Basis is how an allocator's fragmentation is determined.
type Basis string

const (
	Stranded    Basis = "stranded"     // PyTorch: inactive split blocks are fragmented
	LargestFree Basis = "largest_free" // best fit with coalescing: the largest free block is cached, the rest fragmented
	PostFlush   Basis = "post_flush"   // pools: unknown until a flush, then the memory that the flush could not free
)

// Allocator is one allocator's stats, in the protocol's JSON.
type Allocator struct {
	Kind   string `json:"kind"`             // "pytorch", "cuda_pool", "cuda_graph", "cupy", "rmm", "jax", "tensorflow", "raw"
	Handle uint64 `json:"handle,omitempty"` // pool handle: two libraries that use one CUDA pool share one allocator
	Basis  Basis  `json:"basis,omitempty"`
	// ReturnableBound is as the allocator reports it; see Allocator.Bound.
	ReturnableBound Bound `json:"returnable_bound,omitempty"`

	Reserved         Bytes                    `json:"reserved_bytes,omitzero"`
	Allocated        Bytes                    `json:"allocated_bytes,omitzero"`
	Cached           Bytes                    `json:"cached_bytes,omitzero"`
	Fragmented       Bytes                    `json:"fragmented_bytes,omitzero"`
	Returnable       Bytes                    `json:"returnable_bytes,omitzero"`
	Pending          Bytes                    `json:"pending_bytes,omitzero"` // freed by the program, still in use by the GPU's streams
	LargestFree      Bytes                    `json:"largest_free_bytes,omitzero"`
	Asleep           Bytes                    `json:"asleep_bytes,omitzero"`  // unmapped, with its addresses kept: part of no other figure
	Managed          Bytes                    `json:"managed_bytes,omitzero"` // memory with addresses that host and GPU share; what is on the GPU is part of Other
	Segments         quantity.Optional[int64] `json:"segments,omitzero"`
	OutOfMemoryCount quantity.Optional[int64] `json:"out_of_memory_count,omitzero"`
	AllocRetries     quantity.Optional[int64] `json:"alloc_retries,omitzero"`
	// FailedAllocations counts calls that the driver refused for lack of memory. A library may have
	// tried again.
	FailedAllocations quantity.Optional[int64] `json:"failed_allocations,omitzero"`

	// Peaks are the highest values since the process began, or since the program last reset them.
	PeakAllocated    Bytes                    `json:"peak_allocated_bytes,omitzero"`
	PeakReserved     Bytes                    `json:"peak_reserved_bytes,omitzero"`
	Blocks           quantity.Optional[int64] `json:"blocks,omitzero"`            // allocated blocks; for "raw", allocations
	StrandedSegments quantity.Optional[int64] `json:"stranded_segments,omitzero"` // with free memory between allocated blocks
	Config           string                   `json:"config,omitempty"`           // as the allocator writes it; hostile input
	Pools            []Pool                   `json:"pools,omitempty"`            // parts of the allocator
	Largest          []Allocation             `json:"largest,omitempty"`          // largest live allocations, largest first
}

// Evictable is one of the program's own caches that a selective flush may empty, the highest
// priority first. The name is hostile input.
type Evictable struct {
	Name     string  `json:"name"`
	Priority float64 `json:"priority"`
	Bytes    Bytes   `json:"bytes,omitzero"` // as the program reports it
}

// Pool is a part of an allocator: PyTorch keeps small blocks (up to 1 MiB) apart from large ones.
type Pool struct {
	Name       string                   `json:"name"` // "small", "large"
	Reserved   Bytes                    `json:"reserved_bytes,omitzero"`
	Allocated  Bytes                    `json:"allocated_bytes,omitzero"`
	Fragmented Bytes                    `json:"fragmented_bytes,omitzero"`
	Segments   quantity.Optional[int64] `json:"segments,omitzero"`
}

// Allocation is one live allocation that a process made itself. API and Library are hostile input.
type Allocation struct {
	Bytes      quantity.Bytes `json:"bytes"`
	AgeSeconds Float          `json:"age_seconds,omitzero"`
	API        string         `json:"api,omitempty"`     // the call that made it: "cuMemAlloc", "cuMemCreate"
	Library    string         `json:"library,omitempty"` // the library that made the call: "libcublas.so.12"
}

type EndedProcess struct {
	Last             Process // as it was last seen
	Ended            time.Time
	OutOfMemoryCount quantity.Optional[int64]
	ExitStatus       Int // as a shell reports it: 128 + n after signal n
}
