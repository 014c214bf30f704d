//go:build linux && cgo

package cuda

// #include "driver.h"
import "C"

import (
	"errors"
	"math"
	"unsafe"

	"vramscope/internal/quantity"
)

// pool is a memory pool of a device.
type pool struct {
	*device
	pool C.CUmemoryPool
}

// makePool creates a pool that keeps what is freed in it. Without that the
// driver gives everything back at each synchronisation, and there would be
// nothing cached.
func (d *device) makePool() (*pool, error) {
	p := &pool{device: d}
	if err := d.check("cuMemPoolCreate", C.driver_pool_create(d.driver, d.handle, &p.pool)); err != nil {
		return nil, err
	}
	err := d.check("cuMemPoolSetAttribute",
		C.driver_pool_set_attribute(d.driver, p.pool, C.DRIVER_POOL_THRESHOLD, math.MaxUint64))
	if err != nil {
		return nil, errors.Join(err, p.destroy())
	}
	return p, nil
}

// defaultPool is the one that cudaMallocAsync takes from; it is the device's
// and never destroyed.
func (d *device) defaultPool() (*pool, error) {
	p := &pool{device: d}
	err := d.check("cuDeviceGetDefaultMemPool", C.driver_pool_default(d.driver, d.handle, &p.pool))
	return p, err
}

func (p *pool) destroy() error {
	return p.check("cuMemPoolDestroy", C.driver_pool_destroy(p.driver, p.pool))
}

// identity is the same for all who use one pool in a process.
func (p *pool) identity() uint64 { return uint64(uintptr(unsafe.Pointer(p.pool))) }

// poolFigures are the driver's stats of a pool.
type poolFigures struct {
	reserved, used         quantity.Bytes
	reservedHigh, usedHigh quantity.Bytes // the highest since the pool was made
}

func (p *pool) figures() (poolFigures, error) {
	var f poolFigures
	for _, figure := range []struct {
		to        *quantity.Bytes
		attribute C.int
	}{
		// Used is read first: what is allocated between the two calls then
		// makes a little more idle, never a used above reserved.
		{&f.used, C.DRIVER_POOL_USED}, {&f.reserved, C.DRIVER_POOL_RESERVED},
		{&f.usedHigh, C.DRIVER_POOL_USED_HIGH}, {&f.reservedHigh, C.DRIVER_POOL_RESERVED_HIGH},
	} {
		var value C.uint64_t
		if err := p.check("cuMemPoolGetAttribute",
			C.driver_pool_attribute(p.driver, p.pool, figure.attribute, &value)); err != nil {
			return f, err
		}
		*figure.to = quantity.Bytes(value)
	}
	return f, nil
}

// take allocates in the stream's order.
func (p *pool) take(size quantity.Bytes) (address, error) {
	var at C.CUdeviceptr
	err := p.check("cuMemAllocFromPoolAsync", C.driver_pool_alloc(p.driver, p.pool, p.stream, &at, C.size_t(size)))
	return address(at), err
}

// give frees in the stream's order.
func (p *pool) give(at address) error {
	return p.check("cuMemFreeAsync", C.driver_pool_free(p.driver, C.CUdeviceptr(at), p.stream))
}

// trim has the pool give back what it can of all but keep bytes, which live
// blocks are counted in.
func (p *pool) trim(keep quantity.Bytes) error {
	return p.check("cuMemPoolTrimTo", C.driver_pool_trim(p.driver, p.pool, C.size_t(keep)))
}
