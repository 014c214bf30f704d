package fakedriver

import (
	"math"
	"slices"
)

// Absent leaves a number out of the state file: most calls then answer NOT_SUPPORTED.
const Absent = math.MaxUint64 - 1

// Unavailable is NVML_VALUE_NOT_AVAILABLE, as for the unknown memory of a process.
const Unavailable = math.MaxUint64

// State is one simulated box at one moment. Its zero value is a box with a
// driver and no GPU.
type State struct {
	Driver Driver
	GPUs   []GPU
	Faults
}

// Driver is the part of the state that belongs to no GPU.
type Driver struct {
	Version     string `state:"version"`
	NVMLVersion string `state:"nvml_version"`
	CUDAVersion uint64 `state:"cuda_version"` // 12040 is CUDA 12.4
	Init        Return `state:"init"`         // what nvmlInit answers
	Generation  uint64 `state:"generation"`   // a new number is a reload of the driver
	MemoryV2    uint64 `state:"memory_v2"`    // accepted version words: 0 both, 1 sizeof|2<<24 only, 2 bare 2 only
}

// GPU is one GPU. Units are NVML's own.
type GPU struct {
	UUID       string `state:"-"`
	Name       string `state:"name"`
	Serial     string `state:"serial"`
	VBIOS      string `state:"vbios"`
	PartNumber string `state:"part_number"`

	Lost  bool   `state:"lost"`
	Minor uint64 `state:"minor"`

	Brand        uint64 `state:"brand"`
	Architecture uint64 `state:"architecture"`
	CUDAMajor    uint64 `state:"cuda_major"`
	CUDAMinor    uint64 `state:"cuda_minor"`
	Cores        uint64 `state:"cores"`
	BusWidth     uint64 `state:"bus_width"` // bits

	PCIDomain      uint64 `state:"pci_domain"`
	PCIBus         uint64 `state:"pci_bus"`
	PCIDevice      uint64 `state:"pci_device"`
	PCIDeviceID    uint64 `state:"pci_device_id"`
	PCISubsystemID uint64 `state:"pci_subsystem_id"`
	PCIeGen        uint64 `state:"pcie_gen"`
	PCIeGenMax     uint64 `state:"pcie_gen_max"`
	PCIeWidth      uint64 `state:"pcie_width"`
	PCIeWidthMax   uint64 `state:"pcie_width_max"`
	PCIeTX         uint64 `state:"pcie_tx"` // KB/s
	PCIeRX         uint64 `state:"pcie_rx"` // KB/s
	PCIeReplays    uint64 `state:"pcie_replays"`

	// Bytes. Total = Reserved + Used + Free, if the test wants sensible figures.
	Total     uint64 `state:"memory_total"`
	Reserved  uint64 `state:"memory_reserved"`
	Used      uint64 `state:"memory_used"`
	Free      uint64 `state:"memory_free"`
	Context   uint64 `state:"context_bytes"` // what a CUDA context costs
	BAR1Total uint64 `state:"bar1_total"`
	BAR1Used  uint64 `state:"bar1_used"`

	Utilization        uint64 `state:"utilization_gpu"`    // per cent
	MemoryUtilization  uint64 `state:"utilization_memory"` // per cent
	EncoderUtilization uint64 `state:"utilization_encoder"`
	DecoderUtilization uint64 `state:"utilization_decoder"`

	Temperature          uint64 `state:"temperature"` // °C, like the other temperatures
	MemoryTemperature    uint64 `state:"temperature_memory"`
	TemperatureShutdown  uint64 `state:"temperature_shutdown"`
	TemperatureSlowdown  uint64 `state:"temperature_slowdown"`
	TemperatureMemoryMax uint64 `state:"temperature_memory_max"`
	TemperatureGPUMax    uint64 `state:"temperature_gpu_max"`
	Fan                  uint64 `state:"fan"` // per cent

	Power             uint64 `state:"power"`       // mW, like the limits
	PowerLimit        uint64 `state:"power_limit"` // enforced
	PowerLimitDefault uint64 `state:"power_limit_default"`
	PowerLimitMin     uint64 `state:"power_limit_min"`
	PowerLimitMax     uint64 `state:"power_limit_max"`
	Energy            uint64 `state:"energy"` // mJ

	GraphicsClock    uint64 `state:"clock_graphics"` // MHz, like the other clocks
	SMClock          uint64 `state:"clock_sm"`
	MemoryClock      uint64 `state:"clock_memory"`
	VideoClock       uint64 `state:"clock_video"`
	GraphicsClockMax uint64 `state:"clock_graphics_max"`
	SMClockMax       uint64 `state:"clock_sm_max"`
	MemoryClockMax   uint64 `state:"clock_memory_max"`
	VideoClockMax    uint64 `state:"clock_video_max"`

	Throttle          uint64 `state:"throttle"` // nvmlClocksEventReason bits
	ThrottleSupported uint64 `state:"throttle_supported"`
	PState            uint64 `state:"pstate"`
	ComputeMode       uint64 `state:"compute_mode"`
	Persistence       uint64 `state:"persistence"`

	ECCMode                 uint64 `state:"ecc_mode"` // 1 is on
	ECCPending              uint64 `state:"ecc_pending"`
	ECCCorrected            uint64 `state:"ecc_corrected"` // since the driver was loaded
	ECCUncorrected          uint64 `state:"ecc_uncorrected"`
	ECCCorrectedAggregate   uint64 `state:"ecc_corrected_aggregate"` // ever
	ECCUncorrectedAggregate uint64 `state:"ecc_uncorrected_aggregate"`

	// Rows of memory that were replaced: two counts; pending and failed are 1 or 0.
	RemappedCorrectable   uint64 `state:"remapped_correctable"`
	RemappedUncorrectable uint64 `state:"remapped_uncorrectable"`
	RemappingPending      uint64 `state:"remapping_pending"`
	RemappingFailed       uint64 `state:"remapping_failed"`

	NVLinks          uint64 `state:"nvlinks"`           // 0: none
	NVLinksDown      uint64 `state:"nvlinks_down"`      // how many of the last links are down
	NVLinkTX         uint64 `state:"nvlink_tx"`         // KiB/s of each link
	NVLinkRX         uint64 `state:"nvlink_rx"`         // KiB/s of each link
	NVLinkReplays    uint64 `state:"nvlink_replays"`    // of link 0
	NVLinkRecoveries uint64 `state:"nvlink_recoveries"` // of link 0
	NVLinkCRC        uint64 `state:"nvlink_crc"`        // of link 0

	MIGMode    uint64 `state:"mig_mode"` // 1 is on; Absent: the GPU cannot do MIG
	MIGPending uint64 `state:"mig_pending"`
	MIGMax     uint64 `state:"mig_max"` // the most instances that the GPU can have

	SamplePeriod      uint64 `state:"sample_period_us"` // of nvmlDeviceGetProcessUtilization
	HideProcessMemory bool   `state:"hide_process_memory"`
	Wobble            uint64 `state:"wobble"` // how many size queries answer one too few

	Processes []Process  `state:"-"`
	Instances []Instance `state:"-"`
	XIDs      []XID      `state:"-"`
	Faults    `state:"-"`
}

// Process is a process that holds memory on a GPU.
type Process struct {
	Lists         string `state:"-"` // "C", "G", "C+G", "M", "M+C": the lists that contain the process
	PID           uint64 `state:"pid"`
	Used          uint64 `state:"used"` // bytes, or Unavailable
	GraphicsUsed  uint64 `state:"graphics_used"`
	GPUInstance   uint64 `state:"gi"`
	Compute       uint64 `state:"ci"`
	SM            uint64 `state:"sm"` // per cent; Absent or 0: no sample
	MemoryPercent uint64 `state:"mem"`
	Encoder       uint64 `state:"enc"`
	Decoder       uint64 `state:"dec"`
	Name          string `state:"name"` // what nvmlSystemGetProcessName answers; "": what /proc says

	// Command is the command line of the process that Populate starts; programs
	// read it in /proc.
	Command []string `state:"-"`
}

// NewProcess returns a process in the compute list, in no MIG instance.
func NewProcess(pid, used uint64) Process {
	return Process{
		Lists: "C", PID: pid, Used: used, GraphicsUsed: Absent, GPUInstance: Absent, Compute: Absent,
		SM: Absent, MemoryPercent: Absent, Encoder: Absent, Decoder: Absent,
	}
}

// Instance is a MIG instance: one compute instance in one GPU instance.
type Instance struct {
	Index           uint64 `state:"index"` // NVML's index; there may be holes
	GPUInstance     uint64 `state:"gi"`
	Compute         uint64 `state:"ci"`
	UUID            string `state:"uuid"`
	Profile         string `state:"profile"` // "3g.40gb"
	Total           uint64 `state:"total"`   // bytes
	Reserved        uint64 `state:"reserved"`
	Used            uint64 `state:"used"`
	Free            uint64 `state:"free"`
	Slices          uint64 `state:"slices"`
	ComputeSlices   uint64 `state:"compute_slices"`
	Multiprocessors uint64 `state:"multiprocessors"`
	MemoryMiB       uint64 `state:"memory_mib"` // the profile's
}

// XID is a critical error. It occurs when its Seq first appears in the state file.
type XID struct {
	Seq         uint64 `state:"seq"`
	Code        uint64 `state:"code"`
	GPUInstance uint64 `state:"gi"`
	Compute     uint64 `state:"ci"`
}

// Clone returns a copy that shares nothing with s.
func (s State) Clone() State {
	s.Faults = slices.Clone(s.Faults)
	s.GPUs = slices.Clone(s.GPUs)
	for i := range s.GPUs {
		g := &s.GPUs[i]
		g.Processes = slices.Clone(g.Processes)
		g.Instances = slices.Clone(g.Instances)
		g.XIDs = slices.Clone(g.XIDs)
		g.Faults = slices.Clone(g.Faults)
	}
	return s
}
