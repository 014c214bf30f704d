package snapshot

import (
	"cmp"
	"hash/crc32"
	"strconv"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
)

type (
	Bytes = quantity.Optional[quantity.Bytes]
	Int   = quantity.Optional[int]
	Float = quantity.Optional[float64]
)

// Snapshot is everything known at one moment.
type Snapshot struct {
	Sequence  uint64    // grows by one with each published snapshot
	Time      time.Time // of the tick
	Interval  time.Duration
	Simulated bool // the figures come from the simulator
	Past      bool // rebuilt from the history, not measured now

	Host   Host
	Driver Driver
	GPUs   []GPU          // by index
	Rows   []Process      // live processes, by GPU, instance, pid, start time
	Ended  []EndedProcess // ended processes, newest first
	Alerts []Alert        // worst first
	// Failures are the allocations that failed within the last ten minutes, newest last.
	Failures []Event

	// ProbeSeen reports whether a probe has answered since the start.
	ProbeSeen bool
	// ProbesUnasked counts processes that may have a probe which has not been asked yet.
	ProbesUnasked int

	// Holders are processes that have device files of the driver open, but no GPU's own, and that the
	// driver does not list.
	Holders []Holder
	// Forecasting reports whether forecasters observe the rows.
	Forecasting bool

	Guard *Guard // nil if none is configured
	// RecordingPaused is why this box's daemon records nothing at present: a full disk, for example. It
	// is "" if the daemon records, or is not meant to.
	RecordingPaused string
}

// Host is the machine that the GPUs are in.
type Host = process.Host

type DriverState string

// All states but OK and Starting have a Message.
const (
	DriverOK        DriverState = "ok"
	DriverAbsent    DriverState = "absent"     // no library
	DriverNotLoaded DriverState = "not_loaded" // library, but the driver cannot be opened
	DriverGone      DriverState = "gone"       // the driver was there before
	DriverNoCgo     DriverState = "no_cgo"     // this build cannot read the driver
	DriverStarting  DriverState = "starting"   // the driver has not answered yet
)

type Driver struct {
	Version     string
	CUDAVersion string
	State       DriverState
	Since       time.Time // when the driver took this state
	Message     string    // what went wrong: "DRIVER_NOT_LOADED"
	Err         error     // the error behind Message, nil while OK
	RetryAt     time.Time // when the driver is tried again; zero while OK
	MemoryCall  string    // the memory call that answers: "v2" or "v1"; "" if neither
	// ProbesAnswering counts the probes that answer, even of processes that the driver does not list.
	ProbesAnswering int
	// Failures counts how often the driver could not be opened, or was lost.
	Failures int
}

type GPUState string

const (
	GPUOK      GPUState = "ok"
	GPULost    GPUState = "lost"    // the driver reports it as lost or no longer lists it, or is lost itself
	GPUHanging GPUState = "hanging" // a call has not returned in time
	GPUError   GPUState = "error"   // another error, or only probes report the GPU
)

// ProbeDataOnly is the message of a GPU that only probes report.
const ProbeDataOnly = "probe data only"

// GPU is one GPU. While it does not answer, the metrics are unknown, except for constants.
type GPU struct {
	Index    int
	UUID     string
	Name     string
	PCIBusID string

	State    GPUState
	Since    time.Time // when it took this state
	Message  string    // why the state is not OK, often the driver's error
	RetryAt  time.Time // when a GPU that failed is tried again
	LastUsed Bytes     // used memory at the last answer

	Memory Memory
	Parts  Parts // of all its processes; Unknown is the memory that no probe explains

	metric.Sensors
	Throttled []string // why the clocks are held down: "thermal", "power", "hardware"; nil if they are not
	ECC       metric.ECC
	NVLinks   []metric.NVLink
	XIDs      []XID // of the last hour, newest first

	MIG       bool
	Instances []Instance // in the driver's order

	IdleSince time.Time // since when utilisation has been 0 with memory used; zero: not idle

	Outlook // without FullIn under MIG, where each instance has its own

	// Allocation is a job that has the GPU and runs nothing on it, nil if there is none.
	Allocation *JobAllocation

	// ProcessCount counts distinct processes; unknown if the driver's list could not be read.
	ProcessCount Int
	// Unattributed is used memory that no listed process accounts for.
	Unattributed Bytes
	// Holders have the GPU's device file open and are not in the driver's list. They are known only
	// while a GiB or more is unattributed.
	Holders []Holder
}

// JobAllocation is a job to which a scheduler has given a GPU.
type JobAllocation struct {
	Job   process.Job
	User  string    // "" while unknown
	Since time.Time // since when the job has run nothing on the GPU, as far as known
}

// Row returns the allocation as a row of the recording, with PID 0 and 0 bytes used.
func (a *JobAllocation) Row(g *GPU) Process {
	number, err := strconv.ParseUint(a.Job.ID, 10, 64)
	if err != nil { // a pod: the checksum distinguishes its row from other pods' rows
		number = uint64(crc32.ChecksumIEEE([]byte(a.Job.Namespace + "/" + a.Job.ID)))
	}
	return Process{
		ID: RowID{Process: process.Identity{StartTime: number}, GPUUUID: g.UUID}, GPU: g.Index,
		User: a.User, Job: a.Job, Started: a.Since, Used: quantity.From(quantity.Bytes(0), quantity.Computed),
	}
}

// JobAllocation returns the allocation that a row represents, nil if the row is a process.
func (p *Process) JobAllocation() *JobAllocation {
	if p.ID.Process.PID != 0 || p.Type != "" || p.Job.ID == "" {
		return nil
	}
	return &JobAllocation{Job: p.Job, User: p.User, Since: p.Started}
}

// String returns the text on the screen: "slurm 88123 (alice) holds it".
func (a *JobAllocation) String() string {
	return a.Job.String() + " (" + cmp.Or(a.User, a.Job.Namespace, "?") + ") holds it"
}

// Holder is a process that may use a GPU's memory without being listed. The amount is unknown.
type Holder struct {
	Process process.Identity
	User    string
	Name    string
	Command []string
	Job     process.Job
}

// Memory is a frame buffer: Total = Used + Free + Reserved if all are known.
type Memory struct {
	Total, Used, Free, Reserved Bytes
}

// Capacity returns the memory that processes can use: the total less the memory that the driver
// reserves. A GPU is full when its capacity is used.
func (m Memory) Capacity() Bytes {
	total, ok := m.Total.Value()
	if !ok {
		return Bytes{}
	}
	return quantity.From(total-m.Reserved.Or(0), quantity.Computed)
}

// Parts are the parts of used memory, in the order in which bars draw them.
//
//	used = Other + Unknown + Allocated + Fragmented + Returnable
//
// Allocated sums Process.Kept, Fragmented sums Process.Unreturnable. A part that no source reports is unknown.
type Parts struct {
	Other, Unknown, Allocated, Fragmented, Returnable Bytes
}

// XID is a critical error that the driver reported.
type XID struct {
	Code uint64
	Time time.Time
}

// MIGSlices is the number of a GPU's slices where the driver does not report it: that of an A100, H100 or B200.
const MIGSlices = 7

// Instance is one MIG device of a GPU.
type Instance struct {
	ID           InstanceID
	UUID         string
	Profile      string // "3g.40gb"
	Slices       int    // 0 if unknown
	Whole        int    // slices of the whole GPU: 7, or 4 on an A30; 0 if unknown
	Memory       Memory
	Parts        Parts
	ProcessCount Int

	Outlook
}

// InstanceID identifies a MIG instance; its zero value is the whole GPU.
type InstanceID = metric.InstanceID

type Severity uint8

const (
	Notice Severity = iota // for information
	Urgent                 // act now
)

// Alert is an alert that stands. Its condition has held as long as its rule requires.
type Alert struct {
	Kind     AlertKind
	Severity Severity
	GPU      int // index; meaningless if GPUUUID is ""
	GPUUUID  string
	Instance InstanceID // the instance that the alert is about, if any
	Row      RowID      // the process that it names, zero if none
	Since    time.Time
	Note     string // at the end of a GPU line, at most 22 cells: "out of memory x2"
	Message  string // the alert line's sentence
	Advice   string // what to do about it: "F on 2963112 frees 11.8G now"; may be empty
}

// AlertKey identifies an alert from one snapshot to the next.
type AlertKey struct {
	Kind     AlertKind
	GPUUUID  string
	Instance InstanceID
	Row      RowID
}

// Key identifies the alert. A GPU's alert has no row in its key: the process that it names may change.
func (a *Alert) Key() AlertKey {
	key := AlertKey{Kind: a.Kind, GPUUUID: a.GPUUUID, Instance: a.Instance}
	if a.Kind == AlertLeak || a.Kind == AlertOutOfMemory {
		key.Row = a.Row
	}
	return key
}

// AlertKind names a rule.
type AlertKind string

const (
	AlertLost        AlertKind = "lost"
	AlertHanging     AlertKind = "hanging"
	AlertECC         AlertKind = "ecc_uncorrectable"
	AlertXID         AlertKind = "xid"
	AlertFullIn      AlertKind = "full_in"
	AlertOutOfMemory AlertKind = "out_of_memory"
	AlertLowMemory   AlertKind = "low_memory" // free memory is below the threshold, and there is growth, a retry or an out-of-memory error
	AlertLeak        AlertKind = "leak"
	AlertThrottled   AlertKind = "throttled"
	AlertDriver      AlertKind = "driver"
)
