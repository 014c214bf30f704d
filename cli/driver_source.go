package cli

import (
	"slices"
	"sync"

	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler"
)

// driverSource is the driver, and remembers what its last Open said, also one
// that failed: which library was found, and every GPU before the filter.
type driverSource struct {
	sampler.DeviceReader
	probes *probe.Monitor // nil where there are none to ask

	mu      sync.Mutex
	driver  nvml.Driver
	devices []nvml.Device
}

// Open implements sampler.DeviceReader.
func (d *driverSource) Open() (nvml.Driver, []nvml.Device, error) {
	driver, devices, err := d.DeviceReader.Open()
	d.mu.Lock()
	defer d.mu.Unlock()
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
	if err == nil && reading.ProcessesError == nil {
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
