package replay

import (
	"slices"
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/sampler"
)

// Machine answers as a driver with one GPU, and as /proc with the processes on it.
type Machine struct {
	now     time.Time
	memory  nvml.Memory
	running []Process
}

type Process struct {
	process.Info
	Used int64 // bytes
}

// Set sets the next reading. A total of 0 is unknown. Set keeps the slice of processes.
func (m *Machine) Set(now time.Time, used, total int64, running ...Process) {
	m.now, m.memory, m.running = now, nvml.Memory{Used: bytesOf(used)}, running
	if total > 0 {
		m.memory.Total, m.memory.Free = bytesOf(total), bytesOf(max(total-used, 0))
	}
}

// Watch returns a Sampler of the machine. The time given to Set is its clock.
func (m *Machine) Watch(interval time.Duration) *sampler.Sampler {
	return sampler.New(sampler.Options{
		Devices: m, Processes: m, Deadline: time.Hour, OpenDeadline: time.Hour,
		Interval: interval, Clock: func() time.Time { return m.now },
	})
}

func (m *Machine) Open() (nvml.Driver, []nvml.Device, error) {
	return nvml.Driver{Version: "recording"}, []nvml.Device{{UUID: "GPU-0", Name: "recording"}}, nil
}

func (m *Machine) Read(d nvml.Device) (nvml.Reading, error) {
	reading := nvml.Reading{Device: d, Time: m.now, Memory: m.memory}
	for i := range m.running {
		p := &m.running[i]
		reading.Processes = append(reading.Processes, nvml.Process{PID: p.Identity.PID, Type: nvml.Compute, Used: bytesOf(p.Used)})
	}
	return reading, nil
}

func (*Machine) Close() error { return nil }

func (m *Machine) Processes(_ time.Time, pids []int, found func(*process.Info)) {
	for i := range m.running {
		if slices.Contains(pids, m.running[i].Identity.PID) {
			found(&m.running[i].Info)
		}
	}
}

func (m *Machine) Alive(id process.Identity) bool {
	return slices.ContainsFunc(m.running, func(p Process) bool { return p.Identity == id })
}

func (*Machine) Host(time.Time) process.Host { return process.Host{} }
