//go:build linux && cgo

package cuda

// #include "driver.h"
import "C"

import (
	"errors"
	"math"

	"vramscope/internal/quantity"
)

type pool struct {
	*device
	pool C.CUmemoryPool
}

// makePool creates a pool with the highest release threshold. By default the driver
// would free unused memory at each synchronisation, and nothing would be cached.
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

func (p *pool) destroy() error {
	return p.check("cuMemPoolDestroy", C.driver_pool_destroy(p.driver, p.pool))
}

type poolStats struct {
	reserved, used quantity.Bytes // taken from the GPU; in live blocks
}

func (s poolStats) idle() quantity.Bytes { return max(s.reserved-s.used, 0) }

func (p *pool) stats() (poolStats, error) {
	var s poolStats
	for _, figure := range []struct {
		to        *quantity.Bytes
		attribute C.int
	}{
		// Used comes first: an allocation between the two calls cannot make used
		// larger than reserved.
		{&s.used, C.DRIVER_POOL_USED}, {&s.reserved, C.DRIVER_POOL_RESERVED},
	} {
		var value C.uint64_t
		if err := p.check("cuMemPoolGetAttribute",
			C.driver_pool_attribute(p.driver, p.pool, figure.attribute, &value)); err != nil {
			return s, err
		}
		*figure.to = quantity.Bytes(value)
	}
	return s, nil
}

// allocate allocates in stream order.
func (p *pool) allocate(size quantity.Bytes) (address, error) {
	var at C.CUdeviceptr
	err := p.check("cuMemAllocFromPoolAsync", C.driver_pool_alloc(p.driver, p.pool, p.stream, &at, C.size_t(size)))
	return address(at), err
}

// deallocate frees in stream order.
func (p *pool) deallocate(at address) error {
	return p.check("cuMemFreeAsync", C.driver_pool_free(p.driver, C.CUdeviceptr(at), p.stream))
}

// trim frees what it can beyond keep bytes, which include live blocks.
func (p *pool) trim(keep quantity.Bytes) error {
	return p.check("cuMemPoolTrimTo", C.driver_pool_trim(p.driver, p.pool, C.size_t(keep)))
}
