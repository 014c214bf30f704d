// Package sampler reads the sources on a clock, merges what they say by process,
// remembers it, and publishes Snapshots.
//
//	nvml.Device, nvml.Process ─┐
//	probe.Report ──────────────┼→ tick → series append (or gap) → Snapshot → one slot, newest wins
//	process.Info ──────────────┘
package sampler

import (
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/probe"
)

// DeviceReader is what the sampler needs of the driver. nvml.Library and the
// simulator are two.
type DeviceReader interface {
	// Open loads and initialises the driver and lists its GPUs. After Close,
	// or when the driver has gone, it is called again.
	Open() (nvml.Driver, []nvml.Device, error)
	// Read takes one reading of a GPU. It may hang; it is called for several
	// GPUs at once, but never twice at once for the same one.
	Read(device nvml.Device) (nvml.Reading, error)
	// Close lets the driver go. It fails with nvml.ErrBusy while a Read is
	// outstanding.
	Close() error
}

// ProbeReader hands over the newest answer of every probe. It never blocks.
type ProbeReader interface {
	Answers() []probe.Answer
}

// ProcessReader says what the operating system knows of processes.
type ProcessReader interface {
	// Processes looks the pids up; one that is not there is absent from the result.
	Processes(now time.Time, pids []int) map[int]process.Info
	// Alive reports whether the process is there at this moment, however
	// lately it was looked up.
	Alive(id process.Identity) bool
	Host(now time.Time) process.Host
}
