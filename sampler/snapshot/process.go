package snapshot

import (
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

// RowID is the identity of a row: a process on a GPU (instance). It is
// comparable and its zero value is no row.
type RowID struct {
	Process  process.Identity
	GPUUUID  string
	Instance InstanceID
}

// Trend is what a process's memory does.
type Trend uint8

// The trends; Steady shows as a blank.
const (
	TrendUnknown Trend = iota // no forecaster has looked
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

	// What /proc says. Empty or unknown for a foreign process.
	Parent  int
	User    string // "" where unknown: shown as "?"
	UID     quantity.Optional[uint32]
	Name    string   // comm
	Command []string // argv, as it stands in /proc: hostile input, clean before showing
	Started time.Time
	Job     process.Job
	CPU     Float // per cent of one core
	Host    Bytes // resident host memory

	// What the driver says.
	Type          string // "C", "G", "C+G", "M+C"
	SMUtilization Int
	Used          Bytes

	// What a probe says. Unknown without one.
	Runtime        string // "PyTorch", "JAX"; "" where unknown
	RuntimeVersion string
	Allocated      Bytes
	Cached         Bytes
	Fragmented     Bytes
	Returnable     Bytes // the part of Cached that a flush gives back
	Other          Bytes // used − Σ reserved; negative is a mismatch and is shown as one
	Allocators     []Allocator
	Evictable      []Evictable // caches of the program's own that a selective flush evicts, the first to go first
	Probe          *Probe      // nil where there is none

	Peak            Bytes // highest used since vramscope saw it
	Trend           Trend
	GrowthPerSecond Bytes // of a leak
	Predicted       []Prediction
	// PredictedAllocated is the same of Allocated, where a probe tells it.
	PredictedAllocated []Prediction
}

// Unreturnable is free inside the process, but no flush frees it:
// fragmented memory plus cached memory that its allocator never frees.
func (p *Process) Unreturnable() Bytes {
	cached, ok := p.Cached.Value()
	if !ok {
		return p.Fragmented
	}
	kept := cached - p.Returnable.Or(cached)
	return quantity.From(p.Fragmented.Or(0)+kept, quantity.Computed)
}

// ProbeState is how fresh a probe's figures are.
type ProbeState string

// The states: live; stale, its last figures are kept and their age is said;
// silent, they are too old to show.
const (
	ProbeLive   ProbeState = "live"
	ProbeStale  ProbeState = "stale"
	ProbeSilent ProbeState = "silent"
)

// Probe is the probe of a process.
type Probe struct {
	State            ProbeState
	Age              time.Duration // of its last report; of its silence where there was none
	Mismatch         bool          // parts exceed used, confirmed three times in a row
	StartedBy        string        // "run", "import", "attach", "preload"; "" where unknown
	Capabilities     []string      // what it can do: "flush", "snapshot"
	OutOfMemoryCount quantity.Optional[int64]
	AllocRetries     quantity.Optional[int64]
}

// Allocator is one allocator's books, as in the protocol.
type Allocator struct {
	Kind             string
	Basis            string // "stranded", "largest_free", "post_flush"
	Reserved         Bytes
	Allocated        Bytes
	Cached           Bytes
	Fragmented       Bytes
	Returnable       Bytes
	Pending          Bytes
	LargestFree      Bytes
	Segments         quantity.Optional[int64]
	OutOfMemoryCount quantity.Optional[int64]
	AllocRetries     quantity.Optional[int64]

	PeakAllocated    Bytes // the highest since the process began
	PeakReserved     Bytes
	Blocks           quantity.Optional[int64] // live blocks; of "raw", live allocations
	StrandedSegments quantity.Optional[int64] // with free memory stuck between live blocks
	Config           string                   // in the allocator's own words; hostile input
	Pools            []Pool
	Largest          []Allocation // largest first
}

// Evictable is a cache that a program has registered to be emptied in a flush.
// Its name is hostile input.
type Evictable struct {
	Name     string
	Priority float64
	Bytes    Bytes // by the program's own word
}

// Pool is a part of an allocator, "small" or "large".
type Pool struct {
	Name       string
	Reserved   Bytes
	Allocated  Bytes
	Fragmented Bytes
	Segments   quantity.Optional[int64]
}

// Allocation is one live allocation of a process's own. API and Library are
// hostile input.
type Allocation struct {
	Bytes   quantity.Bytes
	Age     quantity.Optional[time.Duration]
	API     string
	Library string
}

// EndedProcess is a process that has ended.
type EndedProcess struct {
	Last             Process // as it was last seen
	Ended            time.Time
	OutOfMemoryCount quantity.Optional[int64]
	ExitStatus       Int // known only for children of vramscope run
}
