//go:build linux && cgo

package nvml

import (
	"errors"
	"fmt"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
	"golang.org/x/sys/unix"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
)

// maxGPUs is more than any machine has; a larger count is nonsense.
const maxGPUs = 256

// list returns the GPUs with their facts. A GPU that this user may not see, for example because of
// a device cgroup, is left out, as in nvidia-smi. A lost GPU stays in the list, with the facts of
// the last Open, so that its line on the screen shows why it has no figures.
func (l *Library) list(lib *loaded) ([]Device, error) {
	total, ret := l.api.DeviceGetCount()
	if ret != gonvml.SUCCESS {
		return nil, newError(symbols[symCount].name, ret)
	}
	if total > maxGPUs {
		return nil, fmt.Errorf("%s: %d GPUs, which no machine has", symbols[symCount].name, total)
	}
	gpus := make(map[string]*gpu, total)
	devices := make([]Device, 0, total)
	var hidden error
	for index := range total {
		g, err := l.identify(lib, index)
		if errors.Is(err, ErrNoPermission) {
			hidden = err
			continue
		}
		if err != nil {
			g = l.lost(index, err)
		}
		if gpus[g.device.UUID] != nil {
			// Two GPUs with one UUID need different keys.
			g.device.UUID = unknownUUID(index)
		}
		gpus[g.device.UUID] = g
		devices = append(devices, g.device)
	}
	if len(devices) == 0 && hidden != nil {
		return nil, fmt.Errorf("%d GPUs, none of which may be read: %w", total, hidden)
	}
	clear(l.known)
	for _, device := range devices {
		l.known[device.Index] = device
	}
	l.gpus = gpus
	return devices, nil
}

// lost returns the entry for a GPU for which the driver returns only an error.
func (l *Library) lost(index int, err error) *gpu {
	device, ok := l.known[index]
	if !ok {
		device = Device{Index: index, UUID: unknownUUID(index)}
	}
	return &gpu{device: device, absent: err}
}

// identify opens a GPU by index and reads its facts. Only the calls for the handle and the UUID
// must succeed. Any other fact that the driver refuses stays empty or unknown.
func (l *Library) identify(lib *loaded, index int) (*gpu, error) {
	handle, ret := l.api.DeviceGetHandleByIndex(index)
	if ret != gonvml.SUCCESS {
		return nil, newError(symbols[symHandle].name, ret)
	}
	pointer, err := devicePointer(handle)
	if err != nil {
		return nil, err
	}
	device := Device{Index: index}
	uuid, ret := handle.GetUUID()
	if ret != gonvml.SUCCESS {
		return nil, newError(symbols[symUUID].name, ret)
	}
	if device.UUID = text.Strip(uuid); device.UUID == "" {
		device.UUID = unknownUUID(index)
	}
	if name, ret := handle.GetName(); ret == gonvml.SUCCESS {
		device.Name = text.Strip(name)
	}
	if lib.symbols.any(symPCIv3, symPCIv2, symPCIv1) {
		if pci, ret := handle.GetPciInfo(); ret == gonvml.SUCCESS {
			device.PCIBusID = pciBusID(unix.ByteSliceToString(pci.BusId[:]), pci.Domain, pci.Bus, pci.Device)
		}
	}
	if lib.symbols[symMinor] {
		if minor, ret := handle.GetMinorNumber(); ret == gonvml.SUCCESS && minor >= 0 && minor < maxGPUs {
			device.Minor = quantity.From(minor, quantity.Driver)
		}
	}
	if lib.symbols[symTemperatureThreshold] {
		if celsius, ret := handle.GetTemperatureThreshold(gonvml.TEMPERATURE_THRESHOLD_SLOWDOWN); ret == gonvml.SUCCESS {
			device.TemperatureSlowdown = intFigure(celsius, highestTemperature)
		}
	}
	if lib.symbols[symPowerLimit] {
		if milliwatts, ret := handle.GetEnforcedPowerLimit(); ret == gonvml.SUCCESS {
			device.PowerLimit = watts(milliwatts)
		}
	}
	return &gpu{device: device, handle: handle, pointer: pointer}, nil
}
