//go:build linux && cgo

package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"vramscope/internal/quantity"
)

// holding is what a probe process has of a device. All of it is touched on
// the device's thread only.
type holding struct {
	device    *device
	pools     []*ownedPool // its own, then the device's default one
	plan      plan
	raw       []address
	rawBytes  quantity.Bytes
	permanent []address
	blocks    []address      // by place; 0 where there is none now
	growth    quantity.Bytes // what the pool has been seen to take at a time, a chunk at least
	reserve   quantity.Bytes // what is left alone of the GPU's free memory

	figures Figures
}

// ownedPool is a pool with what a release has taught about it.
type ownedPool struct {
	*pool
	residue quantity.Optional[quantity.Bytes]
}

func (p *ownedPool) poolStats() (poolStats, error) {
	f, err := p.figures()
	return poolStats{
		reserved: f.reserved, used: f.used, residue: p.residue,
		peakReserved: f.reservedHigh, peakUsed: f.usedHigh,
	}, err
}

// hold makes the pool on a device and takes what is permanent. When it fails,
// what it has taken is given back; the device stays the caller's.
func hold(d *device, p plan) (*holding, error) {
	h := &holding{
		device: d, plan: p, blocks: make([]address, p.blocks), growth: chunk, reserve: leave,
	}
	if err := h.takePermanent(); err != nil {
		return nil, errors.Join(err, h.release())
	}
	return h, nil
}

func (h *holding) takePermanent() error {
	own, err := h.device.makePool()
	if err != nil {
		return fmt.Errorf("make a memory pool: %w", err)
	}
	h.pools = append(h.pools, &ownedPool{pool: own})
	common, err := h.device.defaultPool()
	if err != nil {
		return fmt.Errorf("find the default memory pool: %w", err)
	}
	h.pools = append(h.pools, &ownedPool{pool: common})
	for _, size := range h.plan.raw {
		at, err := h.device.takeRaw(size)
		if err != nil {
			return fmt.Errorf("allocate %s outside of the pool: %w", size, err)
		}
		h.raw = append(h.raw, at)
		h.rawBytes += size
		h.figures.Allocations++
	}
	for _, size := range h.plan.permanent {
		at, err := h.take(size)
		if err != nil {
			return fmt.Errorf("allocate %s in the pool: %w", size, err)
		}
		if at == 0 {
			break // this driver's chunks do not divide as the plan's do
		}
		h.permanent = append(h.permanent, at)
	}
	return nil
}

// step frees what is not to be live at a time, and allocates what is, at most
// so many of both. What cannot be had now is tried again in the next step.
func (h *holding) step(s *story, at time.Duration, most int) error {
	gave := false
	for i, block := range h.blocks {
		if block == 0 || s.live(i, at) {
			continue
		}
		if most--; most < 0 {
			break
		}
		if err := h.pools[0].give(block); err != nil {
			return err
		}
		h.blocks[i] = 0
		h.figures.Frees++
		gave = true
	}
	if gave {
		// Until then what was freed counts as used.
		if err := h.device.synchronize(); err != nil {
			return err
		}
	}
	h.figures.Short = false
	for i, block := range h.blocks {
		if block != 0 || !s.live(i, at) {
			continue
		}
		if most--; most < 0 {
			break
		}
		taken, err := h.take(h.plan.block)
		if err != nil && !errors.Is(err, ErrOutOfMemory) {
			return err
		}
		if taken == 0 {
			break // and none of the others, all as large, would fit
		}
		h.blocks[i] = taken
		if err := h.device.fill(taken, byte(i), h.plan.block); err != nil {
			return err
		}
	}
	return h.device.synchronize()
}

// take allocates in the pool, unless the pool would then reserve more than
// planned or the GPU would have less free than is to be left alone: then it
// gives 0, as with an error.
func (h *holding) take(size quantity.Bytes) (address, error) {
	own := h.pools[0]
	before, err := own.poolStats()
	if err != nil {
		return 0, err
	}
	if before.idle() < size {
		fits, err := h.mayGrow(before.reserved, up(size, h.growth))
		if err != nil || !fits {
			return 0, err
		}
	}
	at, err := own.take(size)
	if err != nil {
		if errors.Is(err, ErrOutOfMemory) {
			h.figures.OutOfMemory++
		}
		return 0, err
	}
	h.figures.Allocations++
	after, err := own.poolStats()
	if err != nil {
		return at, err
	}
	if after.reserved > h.plan.pool {
		return 0, h.undo(at, before.reserved, after.reserved)
	}
	return at, nil
}

// mayGrow reports whether the pool may take so much more from the GPU.
func (h *holding) mayGrow(reserved, growth quantity.Bytes) (bool, error) {
	if reserved+growth > h.plan.pool {
		return false, nil
	}
	free, err := h.device.free()
	if err != nil {
		return false, err
	}
	h.figures.Short = free < growth+h.reserve
	return !h.figures.Short, nil
}

// undo frees a block for which the pool grew further than foreseen: in larger
// chunks, or although there was room. It is foreseen from then on.
func (h *holding) undo(at address, before, after quantity.Bytes) error {
	own := h.pools[0]
	h.growth = max(h.growth, after-before)
	h.figures.Frees++
	return errors.Join(own.give(at), h.device.synchronize(), own.trim(before))
}

// look brings the figures up to date.
func (h *holding) look() (Figures, error) {
	f, err := h.pools[0].figures()
	if err != nil {
		return h.figures, err
	}
	h.figures.Reserved = f.reserved + h.rawBytes
	h.figures.Allocated = f.used + h.rawBytes
	h.figures.Peak = f.reservedHigh + h.rawBytes
	return h.figures, nil
}

// release gives everything back, in the reverse order. An error does not keep
// it from the rest; the first is told, since on a lost device all of them fail.
func (h *holding) release() error {
	var first error
	try := func(err error) { first = cmp.Or(first, err) }
	for _, at := range append(h.permanent, h.blocks...) {
		if at != 0 {
			try(h.pools[0].give(at))
		}
	}
	h.permanent, h.blocks = nil, nil
	try(h.device.synchronize())
	for _, at := range h.raw {
		try(h.device.giveRaw(at))
	}
	h.raw, h.rawBytes = nil, 0
	if len(h.pools) > 0 {
		try(h.pools[0].destroy())
	}
	h.pools = nil
	return first
}
