//go:build linux && cgo

package cuda

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "driver.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"unsafe"

	"vramscope/internal/quantity"
)

// library is the loaded driver. It is never unloaded, because it has threads of its own.
type library struct{ driver *C.struct_driver }

// open loads and initialises the driver's library; "" is the one that the loader finds.
func open(path string) (*library, error) {
	name := C.CString(cmp.Or(path, "libcuda.so.1"))
	defer C.free(unsafe.Pointer(name))
	var message, missing *C.char
	driver := C.driver_open(name, &message, &missing)
	if driver == nil {
		defer C.free(unsafe.Pointer(message))
		if missing != nil {
			return nil, fmt.Errorf("cuda: %w: it lacks %s, new in CUDA 11.2", ErrTooOld, C.GoString(missing))
		}
		return nil, fmt.Errorf("cuda: %w: %s", ErrLibraryNotFound, C.GoString(message))
	}
	l := &library{driver}
	if err := l.check("cuInit", C.driver_init(driver)); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	return l, nil
}

func (l *library) check(call string, result C.CUresult) error {
	if result == 0 {
		return nil
	}
	e := &Error{Code: int(result), Call: call, Name: fmt.Sprintf("CUDA error %d", int(result))}
	if name := C.driver_error_name(l.driver, result); name != nil {
		e.Name = C.GoString(name)
	}
	if text := C.driver_error_text(l.driver, result); text != nil {
		e.Text = C.GoString(text)
	}
	return e
}

// devices lists the devices that CUDA shows to this process. It makes no context. A
// device that cannot be read is left out; if that leaves none, it returns the errors.
func (l *library) devices() ([]Device, error) {
	var count C.int
	if err := l.check("cuDeviceGetCount", C.driver_device_count(l.driver, &count)); err != nil {
		return nil, fmt.Errorf("cuda: count devices: %w", err)
	}
	var found []Device
	var failed error
	for ordinal := range int(count) {
		device, err := l.describe(ordinal)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("cuda: device %d: %w", ordinal, err))
			continue
		}
		found = append(found, device)
	}
	switch {
	case len(found) > 0:
		return found, nil
	case failed != nil:
		return nil, failed
	}
	return nil, fmt.Errorf("cuda: %w: the driver shows none", ErrNoDevice)
}

func (l *library) describe(ordinal int) (Device, error) {
	device := Device{Ordinal: ordinal}
	var handle C.CUdevice
	if err := l.check("cuDeviceGet", C.driver_device(l.driver, C.int(ordinal), &handle)); err != nil {
		return device, err
	}
	var name [256]C.char
	if err := l.check("cuDeviceGetName", C.driver_device_name(l.driver, handle, &name[0], C.int(len(name)-1))); err != nil {
		return device, err
	}
	device.Name = C.GoString(&name[0])
	var total C.size_t
	if err := l.check("cuDeviceTotalMem_v2", C.driver_device_total(l.driver, handle, &total)); err != nil {
		return device, err
	}
	device.Total = quantity.Bytes(total)
	var gpu, own C.CUuuid
	if err := l.check("cuDeviceGetUuid", C.driver_device_gpu_uuid(l.driver, handle, &gpu)); err != nil {
		return device, err
	}
	if err := l.check("cuDeviceGetUuid_v2", C.driver_device_uuid(l.driver, handle, &own)); err != nil {
		return device, err
	}
	device.GPU = formatUUID("GPU-", gpu)
	device.UUID = device.GPU
	if own != gpu {
		// The second version of the call differs for MIG instances only.
		device.UUID = formatUUID("MIG-", own)
	}
	return device, nil
}

func formatUUID(prefix string, uuid C.CUuuid) string {
	b := C.GoBytes(unsafe.Pointer(&uuid.bytes), 16)
	return fmt.Sprintf("%s%x-%x-%x-%x-%x", prefix, b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
