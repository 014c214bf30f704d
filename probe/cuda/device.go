//go:build linux && cgo

package cuda

// #include "driver.h"
import "C"

import (
	"errors"
	"fmt"

	"vramscope/internal/quantity"
)

// device is a GPU with its primary context and a stream. The context is current on
// one thread, where all methods must be called.
type device struct {
	*library
	handle C.CUdevice
	stream C.CUstream
}

// address is an allocation on the GPU; 0 is none.
type address uint64

// use retains the device's primary context, which all libraries in a process share,
// and makes it current on this thread.
func (l *library) use(ordinal int) (*device, error) {
	d := &device{library: l}
	if err := l.check("cuDeviceGet", C.driver_device(l.driver, C.int(ordinal), &d.handle)); err != nil {
		return nil, err
	}
	var pools C.int
	if err := l.check("cuDeviceGetAttribute",
		C.driver_device_attribute(l.driver, d.handle, C.DRIVER_POOLS_SUPPORTED, &pools)); err != nil {
		return nil, err
	}
	if pools == 0 {
		return nil, fmt.Errorf("this GPU has no memory pools: %w", ErrNotSupported)
	}
	var context C.CUcontext
	if err := l.check("cuDevicePrimaryCtxRetain", C.driver_context_retain(l.driver, d.handle, &context)); err != nil {
		return nil, err
	}
	err := l.check("cuCtxSetCurrent", C.driver_context_use(l.driver, context))
	if err == nil {
		err = l.check("cuStreamCreate", C.driver_stream_create(l.driver, &d.stream))
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// close destroys the stream and releases the context. The last release frees the
// hundreds of MiB of the context.
func (d *device) close() error {
	var failed error
	if d.stream != nil {
		failed = d.check("cuStreamDestroy_v2", C.driver_stream_destroy(d.driver, d.stream))
		d.stream = nil
	}
	return errors.Join(failed,
		d.check("cuCtxSetCurrent", C.driver_context_use(d.driver, nil)),
		d.check("cuDevicePrimaryCtxRelease_v2", C.driver_context_release(d.driver, d.handle)))
}

func (d *device) free() (quantity.Bytes, error) {
	var free, total C.size_t
	err := d.check("cuMemGetInfo_v2", C.driver_memory_info(d.driver, &free, &total))
	return quantity.Bytes(free), err
}

// fill fills an allocation with a byte, in stream order.
func (d *device) fill(at address, value byte, size quantity.Bytes) error {
	return d.check("cuMemsetD8Async",
		C.driver_fill(d.driver, C.CUdeviceptr(at), C.uchar(value), C.size_t(size), d.stream))
}

// synchronize waits for the stream, after which its frees have taken effect.
func (d *device) synchronize() error {
	return d.check("cuStreamSynchronize", C.driver_stream_synchronize(d.driver, d.stream))
}
