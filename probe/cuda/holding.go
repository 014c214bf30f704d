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
	device  *device
	pool    *pool
	plan    plan
	blocks  []address      // 0: not allocated now
	growth  quantity.Bytes // by which the pool grows at a time, as observed; at least a chunk
	reserve quantity.Bytes // kept free on the GPU
}

// hold makes the pool on a device.
func hold(d *device, p plan) (*holding, error) {
	own, err := d.makePool()
	if err != nil {
		return nil, fmt.Errorf("make a memory pool: %w", err)
	}
	return &holding{device: d, pool: own, plan: p, blocks: make([]address, p.blocks), growth: chunk, reserve: spare}, nil
}

func (h *holding) live(s *timeline, block int, at time.Duration) bool {
	return block < h.plan.permanent || s.live(block-h.plan.permanent, at)
}

// step frees the blocks that are not live at a time and allocates the live ones, at
// most limit of them. A failed allocation is tried again in the next step.
func (h *holding) step(s *timeline, at time.Duration, limit int) error {
	freed := false
	for i, block := range h.blocks {
		if block == 0 || h.live(s, i, at) {
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
		// Freed memory counts as used until the stream has freed it.
		if err := h.device.synchronize(); err != nil {
			return err
		}
	}
	for i, block := range h.blocks {
		if block != 0 || !h.live(s, i, at) {
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
	return free >= growth+h.reserve, nil
}

// undo frees a block for which the pool grew more than expected, and remembers by how much.
func (h *holding) undo(at address, before, after quantity.Bytes) error {
	h.growth = max(h.growth, after-before)
	return errors.Join(h.pool.deallocate(at), h.device.synchronize(), h.pool.trim(before))
}

// release frees the blocks and then the pool, whatever fails. It returns the first
// error: on a lost device every call fails.
func (h *holding) release() error {
	var first error
	try := func(err error) { first = cmp.Or(first, err) }
	for _, at := range h.blocks {
		if at != 0 {
			try(h.pool.deallocate(at))
		}
	}
	h.blocks = nil
	try(h.device.synchronize())
	try(h.pool.destroy())
	return first
}
