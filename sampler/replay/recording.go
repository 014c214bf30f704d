package replay

import (
	"slices"
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
)

// recording answers as a driver with one GPU, and as /proc with one process on it.
type recording struct {
	now     time.Time
	memory  nvml.Memory
	info    process.Info
	running bool
}

// pid of the process.
const pid = 1

// begin says how many seconds the process has run; 0 is unknown.
func (r *recording) begin(now time.Time, age float64) {
	r.info = process.Info{Identity: process.Identity{PID: pid, StartTime: 1, Namespace: 1}}
	if age > 0 {
		r.info.Started = now.Add(-time.Duration(age * 1e9))
	}
}

// set is the next reading. A total of 0 is unknown.
func (r *recording) set(now time.Time, used, total int64) {
	r.now, r.memory = now, nvml.Memory{Used: bytesOf(used)}
	if total > 0 {
		r.memory.Total, r.memory.Free = bytesOf(total), bytesOf(max(total-used, 0))
	}
}

func (*recording) device() nvml.Device { return nvml.Device{UUID: "GPU-0", Name: "recording"} }

// Open lists the GPU.
func (r *recording) Open() (nvml.Driver, []nvml.Device, error) {
	return nvml.Driver{Version: "recording"}, []nvml.Device{r.device()}, nil
}

// Read is the present sample.
func (r *recording) Read(d nvml.Device) (nvml.Reading, error) {
	reading := nvml.Reading{Device: d, Time: r.now, Memory: r.memory}
	if r.running {
		reading.Processes = []nvml.Process{{PID: pid, Type: nvml.Compute, Used: r.memory.Used}}
	}
	return reading, nil
}

// Close has nothing to release.
func (*recording) Close() error { return nil }

// Processes is the process, once it runs.
func (r *recording) Processes(_ time.Time, pids []int, found func(*process.Info)) {
	if r.running && slices.Contains(pids, pid) {
		found(&r.info)
	}
}

// Alive reports whether the process runs.
func (r *recording) Alive(process.Identity) bool { return r.running }

// Host is unknown.
func (*recording) Host(time.Time) process.Host { return process.Host{} }
