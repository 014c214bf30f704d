package cli

import (
	"errors"
	"slices"
	"sync"

	"vramscope/nvml"
	"vramscope/sampler"
)

// probeAsker is what a driverSource needs of the monitor of probes.
type probeAsker interface {
	Ask()
	Listed(gpu string, pids []int)
}

// driverSource is the driver, and remembers what its last Open said, also one
// that failed: which library was found, and every GPU before the filter.
type driverSource struct {
	sampler.DeviceReader
	probes probeAsker // nil where there are none to ask

	mu      sync.Mutex
	driver  nvml.Driver
	devices []nvml.Device
}

// Open implements sampler.DeviceReader.
func (d *driverSource) Open() (nvml.Driver, []nvml.Device, error) {
	driver, devices, err := d.DeviceReader.Open()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, was := range d.devices {
		if d.probes != nil && !slices.ContainsFunc(devices, func(is nvml.Device) bool { return is.UUID == was.UUID }) {
			d.probes.Listed(was.UUID, nil)
		}
	}
	d.driver, d.devices = driver, devices
	return driver, devices, err
}

// Read implements sampler.DeviceReader. The probes are asked at the moment that
// the driver is read, so that the two can be compared, and are told which
// processes it lists: a probe in a container is found by its pid.
func (d *driverSource) Read(device nvml.Device) (nvml.Reading, error) {
	if d.probes == nil {
		return d.DeviceReader.Read(device)
	}
	d.probes.Ask()
	reading, err := d.DeviceReader.Read(device)
	switch {
	case errors.Is(err, nvml.ErrGPULost):
		d.probes.Listed(device.UUID, nil)
	case err == nil && reading.ProcessesError == nil:
		pids := make([]int, 0, len(reading.Processes))
		for i := range reading.Processes {
			pids = append(pids, reading.Processes[i].PID)
		}
		slices.Sort(pids)
		d.probes.Listed(device.UUID, slices.Compact(pids))
	}
	return reading, err
}

// said is what the last Open said.
func (d *driverSource) said() (nvml.Driver, []nvml.Device) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.driver, d.devices
}
