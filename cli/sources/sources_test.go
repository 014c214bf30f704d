package sources

import (
	"slices"
	"testing"

	"vramscope/nvml"
)

// listedPIDs is a monitor of probes that only notes the processes that it would look for.
type listedPIDs map[string][]int

func (listedPIDs) Ask() {}

func (l listedPIDs) Listed(gpu string, pids []int) { l[gpu] = pids }

// losingDriver has two GPUs with one process each, until it loses them.
type losingDriver struct {
	devices []nvml.Device
	err     error
}

func (d *losingDriver) Open() (nvml.Driver, []nvml.Device, error) {
	return nvml.Driver{}, d.devices, d.err
}

func (d *losingDriver) Read(device nvml.Device) (nvml.Reading, error) {
	return nvml.Reading{Processes: []nvml.Process{{PID: 100 + device.Index}}}, d.err
}

func (d *losingDriver) Close() error { return nil }

func TestPIDsOfALostGPUAreNotLookedFor(t *testing.T) {
	devices := []nvml.Device{{Index: 0, UUID: "GPU-0"}, {Index: 1, UUID: "GPU-1"}}
	for name, c := range map[string]struct {
		lose func(*losingDriver, *driverSource)
		want []int
	}{
		"a read says that it is lost": {func(d *losingDriver, s *driverSource) {
			d.err = &nvml.Error{Name: "ERROR_GPU_IS_LOST", Kind: nvml.ErrGPULost}
			_, _ = s.Read(devices[1])
		}, []int{100}},
		"the driver lists it no more": {func(d *losingDriver, s *driverSource) {
			d.devices = devices[:1]
			_, _, _ = s.Open()
		}, []int{100}},
		"there is no driver": {func(d *losingDriver, s *driverSource) {
			d.devices, d.err = nil, &nvml.Error{Name: "ERROR_DRIVER_NOT_LOADED", Kind: nvml.ErrDriverNotLoaded}
			_, _, _ = s.Open()
		}, nil},
		"one read fails": {func(d *losingDriver, s *driverSource) {
			d.err = &nvml.Error{Name: "ERROR_TIMEOUT", Kind: nvml.ErrTimeout}
			_, _ = s.Read(devices[1])
		}, []int{100, 101}},
	} {
		driver, probes := &losingDriver{devices: devices}, listedPIDs{}
		source := &driverSource{DeviceReader: driver, probes: probes}
		_, _, _ = source.Open()
		for _, device := range devices {
			_, _ = source.Read(device)
		}
		c.lose(driver, source)
		if got := probes.all(); !slices.Equal(got, c.want) {
			t.Errorf("%s: the processes to look for are %v, want %v", name, got, c.want)
		}
	}
}

// all returns every pid that is listed on some GPU.
func (l listedPIDs) all() (pids []int) {
	for _, listed := range l {
		pids = append(pids, listed...)
	}
	slices.Sort(pids)
	return pids
}
