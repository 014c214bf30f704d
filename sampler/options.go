package sampler

import (
	"cmp"
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// Options wires a Sampler to its sources.
type Options struct {
	Devices   DeviceReader
	Probes    ProbeReader // nil: no probes
	Processes ProcessReader

	Interval time.Duration // between ticks; 0 is one second
	// Deadline is how long a tick waits for a GPU's answer. 0 is four fifths of the interval, but at
	// least 100 ms and at most 1 s.
	Deadline time.Duration
	// OpenDeadline is how long the first tick waits for the driver, which takes seconds to open
	// without persistence mode. The least is Deadline or, if that is 0, 800 ms.
	OpenDeadline time.Duration
	Clock        func() time.Time // nil: time.Now
	// Single asks for one snapshot without a history.
	Single bool
	// Since is the end of the vramscope process that this process replaces. Nothing earlier is logged
	// as an event. Zero means the first tick.
	Since time.Time

	// Only lists the GPUs to read, by index or UUID prefix; nil means all.
	Only []string
	// LowMemory is the fraction of a GPU's capacity below which free memory is low. 0 means a
	// tenth; a negative value switches the alert off.
	LowMemory float64
	Simulated bool
	// Guard takes each snapshot before it is published, and returns the guard's state. It must
	// not wait. Nil means no guard.
	Guard func(*snapshot.Snapshot) *snapshot.Guard
	// Servers adds the figures of watched servers to the rows, and returns events. It must not wait.
	// Nil means that no server is watched.
	Servers func(*snapshot.Snapshot) []snapshot.Event
	// RecordingPaused returns why the daemon records nothing at present. It must not wait. Nil
	// means unknown.
	RecordingPaused func() string
}

// The bounds and the default of Options.Interval.
const (
	MinInterval     = 100 * time.Millisecond
	MaxInterval     = time.Minute
	defaultInterval = time.Second
)

func (o Options) withDefaults() Options {
	o.Interval = min(max(cmp.Or(o.Interval, defaultInterval), MinInterval), MaxInterval)
	o.LowMemory = cmp.Or(o.LowMemory, 0.10)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

func (o Options) deadline(interval time.Duration) time.Duration {
	if o.Deadline > 0 {
		return o.Deadline
	}
	return min(max(interval*4/5, 100*time.Millisecond), time.Second)
}

// DeviceReader reads the driver. nvml.Library and the simulator implement it.
type DeviceReader interface {
	// Open initialises the driver and lists its GPUs. It is called again after Close and after the
	// driver was lost.
	Open() (nvml.Driver, []nvml.Device, error)
	// Read takes one reading of a GPU. It may hang. It may run for several GPUs at once, but not
	// twice for the same GPU.
	Read(device nvml.Device) (nvml.Reading, error)
	// Close releases the driver. It fails with nvml.ErrBusy while a Read is outstanding.
	Close() error
}

// ProbeReader returns the newest answer of every probe.
type ProbeReader interface {
	Answers() []probe.Answer
	// Unasked counts the processes whose probe, if they have one, has not been asked yet.
	Unasked() int
}

// ProcessReader reads the operating system's facts about processes.
type ProcessReader interface {
	// Processes looks the pids up and calls found for each process that exists. The argument of found
	// is valid until found returns.
	Processes(now time.Time, pids []int, found func(*process.Info))
	// Alive reports whether the process exists now; it does not cache.
	Alive(id process.Identity) bool
	Host(now time.Time) process.Host
}
