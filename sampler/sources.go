package sampler

import (
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/probe"
)

// DeviceReader is what the sampler needs of the driver. nvml.Library and the
// simulator implement it.
type DeviceReader interface {
	// Open loads and initialises the driver and lists its GPUs. It is called
	// again after Close and after the driver was lost.
	Open() (nvml.Driver, []nvml.Device, error)
	// Read takes one reading of a GPU. It may hang. It is called for several
	// GPUs at once, but not twice at once for the same GPU.
	Read(device nvml.Device) (nvml.Reading, error)
	// Close releases the driver. It fails with nvml.ErrBusy while a Read is
	// outstanding.
	Close() error
}

// ProbeReader has the newest answer of every probe. It never blocks.
type ProbeReader interface {
	Answers() []probe.Answer
	// Unasked is how many processes may have a probe that has not been asked yet.
	Unasked() int
}

// ProcessReader is what the operating system knows of processes.
type ProcessReader interface {
	// Processes looks the pids up and calls found for each that is there. What found
	// gets stands until it returns.
	Processes(now time.Time, pids []int, found func(*process.Info))
	// Alive reports whether the process is there now; it does not cache.
	Alive(id process.Identity) bool
	Host(now time.Time) process.Host
}
