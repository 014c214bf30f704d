//go:build linux && cgo

package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"vramscope/internal/quantity"
)

// holding is the memory of a probe process.
type holding struct {
	device    *device
	pool      *pool
	plan      plan
	permanent []address
	blocks    []address      // 0: not allocated now
	growth    quantity.Bytes // by which the pool grows at a time, as observed; at least a chunk
	reserve   quantity.Bytes // kept free on the GPU

	short bool // it does not grow, so that the reserve stays free
}

// hold makes the pool on a device and allocates the permanent blocks. If it fails, it
// frees them again; the device stays the caller's.
func hold(d *device, p plan) (*holding, error) {
	h := &holding{
		device: d, plan: p, blocks: make([]address, p.blocks), growth: chunk, reserve: spare,
	}
	if err := h.allocatePermanent(); err != nil {
		return nil, errors.Join(err, h.release())
	}
	return h, nil
}

func (h *holding) allocatePermanent() error {
	own, err := h.device.makePool()
	if err != nil {
		return fmt.Errorf("make a memory pool: %w", err)
	}
	h.pool = own
	for _, size := range h.plan.permanent {
		at, err := h.allocate(size)
		if err != nil {
			return fmt.Errorf("allocate %s in the pool: %w", size, err)
		}
		if at == 0 {
			break // this driver's chunks differ from the plan's
		}
		h.permanent = append(h.permanent, at)
	}
	return nil
}

// step frees the blocks that are not live at a time and allocates the live ones, at
// most limit of them. A failed allocation is tried again in the next step.
func (h *holding) step(s *timeline, at time.Duration, limit int) error {
	freed := false
	for i, block := range h.blocks {
		if block == 0 || s.live(i, at) {
			continue
		}
		if limit--; limit < 0 {
			break
		}
		if err := h.pool.deallocate(block); err != nil {
			return err
		}
		h.blocks[i] = 0
		freed = true
	}
	if freed {
		// Until then freed memory counts as used.
		if err := h.device.synchronize(); err != nil {
			return err
		}
	}
	h.short = false
	for i, block := range h.blocks {
		if block != 0 || !s.live(i, at) {
			continue
		}
		if limit--; limit < 0 {
			break
		}
		taken, err := h.allocate(h.plan.block)
		if err != nil && !errors.Is(err, ErrOutOfMemory) {
			return err
		}
		if taken == 0 {
			break // the others are as large
		}
		h.blocks[i] = taken
		if err := h.device.fill(taken, byte(i), h.plan.block); err != nil {
			return err
		}
	}
	return h.device.synchronize()
}

// allocate allocates in the pool. It returns 0 if the pool would reserve more than
// planned, or the GPU would have less than the reserve free.
func (h *holding) allocate(size quantity.Bytes) (address, error) {
	before, err := h.pool.stats()
	if err != nil {
		return 0, err
	}
	if before.idle() < size {
		fits, err := h.mayGrow(before.reserved, up(size, h.growth))
		if err != nil || !fits {
			return 0, err
		}
	}
	at, err := h.pool.allocate(size)
	if err != nil {
		return 0, err
	}
	after, err := h.pool.stats()
	if err != nil {
		return at, err
	}
	if after.reserved > h.plan.pool {
		return 0, h.undo(at, before.reserved, after.reserved)
	}
	return at, nil
}

func (h *holding) mayGrow(reserved, growth quantity.Bytes) (bool, error) {
	if reserved+growth > h.plan.pool {
		return false, nil
	}
	free, err := h.device.free()
	if err != nil {
		return false, err
	}
	h.short = free < growth+h.reserve
	return !h.short, nil
}

// undo frees a block for which the pool grew more than expected, and remembers by how much.
func (h *holding) undo(at address, before, after quantity.Bytes) error {
	h.growth = max(h.growth, after-before)
	return errors.Join(h.pool.deallocate(at), h.device.synchronize(), h.pool.trim(before))
}

// release frees everything, in reverse order, whatever fails. It returns the first
// error: on a lost device every call fails.
func (h *holding) release() error {
	var first error
	try := func(err error) { first = cmp.Or(first, err) }
	for _, at := range append(h.permanent, h.blocks...) {
		if at != 0 {
			try(h.pool.deallocate(at))
		}
	}
	h.permanent, h.blocks = nil, nil
	try(h.device.synchronize())
	if h.pool != nil {
		try(h.pool.destroy())
	}
	h.pool = nil
	return first
}
