package main

import (
	"path"
	"slices"
	"strings"
	"time"

	"vramscope/internal/forecastlab/regime"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/nvml"
)

// box answers as a driver with one GPU and as /proc.
type box struct {
	now       time.Time
	began     time.Time
	processes []regime.Process
}

func bytesOf(v float64) quantity.Optional[quantity.Bytes] {
	return quantity.From(quantity.Bytes(v), quantity.Driver)
}

func (*box) device() nvml.Device { return nvml.Device{UUID: "GPU-0", Name: "laboratory"} }

// Open lists the GPU.
func (b *box) Open() (nvml.Driver, []nvml.Device, error) {
	return nvml.Driver{Version: "laboratory"}, []nvml.Device{b.device()}, nil
}

// Read is the present second.
func (b *box) Read(d nvml.Device) (nvml.Reading, error) {
	used := 0.0
	reading := nvml.Reading{Device: d, Time: b.now}
	for i := range b.processes {
		p := &b.processes[i]
		used += p.Used
		reading.Processes = append(reading.Processes, nvml.Process{PID: p.PID, Type: nvml.Compute, Used: bytesOf(p.Used)})
	}
	reading.Memory = nvml.Memory{Total: bytesOf(regime.Capacity), Used: bytesOf(used), Free: bytesOf(regime.Capacity - used)}
	return reading, nil
}

// Close has nothing to release.
func (*box) Close() error { return nil }

func (b *box) find(pid int) int {
	return slices.IndexFunc(b.processes, func(p regime.Process) bool { return p.PID == pid })
}

// Processes are those that run.
func (b *box) Processes(_ time.Time, pids []int, found func(*process.Info)) {
	for _, pid := range pids {
		i := b.find(pid)
		if i < 0 {
			continue
		}
		command := strings.Fields(b.processes[i].Command)
		info := process.Info{
			Identity: process.Identity{PID: pid, StartTime: uint64(pid), Namespace: 1}, User: "alice",
			Started: b.began.Add(time.Duration(b.processes[i].Began * 1e9)), Command: command,
		}
		if len(command) > 0 {
			info.Name = path.Base(command[0])
		}
		found(&info)
	}
}

// Alive reports whether a process runs.
func (b *box) Alive(id process.Identity) bool { return b.find(id.PID) >= 0 }

// Host is unknown.
func (*box) Host(time.Time) process.Host { return process.Host{} }
