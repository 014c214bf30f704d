package nvml

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
)

type Driver struct {
	Version     string // kernel driver, "550.163.01"
	CUDAVersion string // highest CUDA version that the driver supports, "12.4"; "" if unknown
	LibraryPath string // where the loader found the library; "" if unknown

	// LibraryVersion is the driver release in the library's file name, "" if the name has none.
	LibraryVersion string
}

// Device holds the facts about a GPU, read when the driver is opened.
type Device struct {
	Index    int    // NVML's index; CUDA_VISIBLE_DEVICES does not change it
	UUID     string // "GPU-…", the key of a GPU; "unknown-3" for GPU 3 without a known UUID of its own
	Name     string // "NVIDIA H100 80GB HBM3"
	PCIBusID string // "00000000:18:00.0", as nvidia-smi -q prints it, with a domain of 8 hex digits

	Minor quantity.Optional[int] // number of its device file: 0 for /dev/nvidia0

	TemperatureSlowdown quantity.Optional[int]     // °C at which the GPU slows itself down
	PowerLimit          quantity.Optional[float64] // W, enforced; a Reading has a newer value
}

// Nameless reports whether no UUID of the GPU's own is known. Such a GPU cannot be recognised when
// it comes back.
func (d *Device) Nameless() bool { return d.UUID == unknownUUID(d.Index) }

// Reading is one GPU at one moment.
type Reading struct {
	Device Device
	Time   time.Time // when the memory figures were read

	Memory         Memory
	metric.Sensors // without the figures that are in Device
	Throttle       quantity.Optional[Throttle]
	ECC            metric.ECC
	NVLinks        []metric.NVLink // in the driver's order; nil if there are none, or if they were not read
	XIDs           []XID           // critical errors since the last reading
	MIGEnabled     bool            // current MIG mode
	Instances      []Instance      // MIG instances in NVML's order
	Processes      []Process       // one entry per (pid, GPU instance, compute instance)
	// ProcessesFrom and ProcessesTo are the times between which Processes were read. They are zero
	// if Processes were read at Time.
	ProcessesFrom, ProcessesTo time.Time
	// ProcessesError is why the process list could not be read; nil if it could.
	ProcessesError error
}

// Memory is a GPU's or a MIG instance's frame buffer.
//
//	Total = Used + Free + Reserved
//
// The older call (v1) counts reserved memory as used: then Reserved is unknown, and the Source of the
// other figures is quantity.DriverV1. If a GPU uses the host's memory, the figures are the host's,
// and their Source is quantity.System.
type Memory struct {
	Total, Used, Free, Reserved quantity.Optional[quantity.Bytes]
}

// Throttle is the set of reasons for lowered clocks: the bits of nvmlClocksEventReasons.
type Throttle uint64

// The reasons that count as throttling. The bits for idle and application clocks do not.
const (
	ThrottlePowerCap        Throttle = 0x4
	ThrottleHardware        Throttle = 0x8
	ThrottleSoftwareThermal Throttle = 0x20
	ThrottleHardwareThermal Throttle = 0x40
	ThrottlePowerBrake      Throttle = 0x80
)

// XID is a critical error that the driver reported on a GPU.
// Source: https://docs.nvidia.com/deploy/xid-errors/
type XID struct {
	Code uint64
	Time time.Time
}

// InstanceID names a part of a MIG GPU.
type InstanceID = metric.InstanceID

type Instance struct {
	ID      InstanceID
	UUID    string // "MIG-…"
	Profile string // "3g.40gb"
	Slices  int    // GPU slices of the profile: 3; 0 if unknown
	Whole   int    // GPU slices of the whole GPU: 7, or 4 on an A30
	Memory  Memory
}

// ProcessType is the set of kinds of contexts that a process has on a GPU.
type ProcessType uint8

const (
	Compute ProcessType = 1 << iota
	Graphics
	MPS // a client of the Multi-Process Service, whose server owns the contexts
)

// String returns nvidia-smi's notation: C, G, C+G, M+C.
func (t ProcessType) String() string {
	if t&MPS != 0 {
		return "M+C"
	}
	return [...]string{Compute: "C", Graphics: "G", Compute | Graphics: "C+G"}[t&(Compute|Graphics)]
}

type Process struct {
	PID           int // as the driver names it; may be from another pid namespace
	Instance      InstanceID
	Type          ProcessType
	Used          quantity.Optional[quantity.Bytes]
	SMUtilization quantity.Optional[int] // per cent over the driver's last sampling period, as are the next three
	// MemoryUtilization is the share of time in which memory was read or written.
	MemoryUtilization  quantity.Optional[int]
	EncoderUtilization quantity.Optional[int]
	DecoderUtilization quantity.Optional[int]
}

// Options configure a Library. The zero value suits every box.
type Options struct {
	LibraryPath string           // empty: libnvidia-ml.so.1, as the dynamic loader finds it
	Now         func() time.Time // nil: time.Now
	Proc        string           // empty: /proc
}
