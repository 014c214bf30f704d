package world

import (
	"errors"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

// Block is allocated memory.
type Block = *allocator.Block

// open makes the CUDA context and the allocator.
func (j *Job) open() error {
	j.asked = j.Context + j.Region
	if !j.world.take(j.Context) && (!j.world.Contexts || !j.rescued(j.Context)) {
		return j.fail(allocator.ErrOutOfMemory)
	}
	j.context = j.Context
	if j.Region == 0 {
		j.cache = allocator.NewCaching((*device)(j))
		return nil
	}
	j.refused = 0
	if !(*device)(j).Reserve(j.Region) {
		return j.fail(allocator.ErrOutOfMemory)
	}
	j.cache = allocator.NewCaching(&region{free: j.Region})
	return nil
}

// region is memory that a job reserves at its start and never returns to the driver.
type region struct{ free quantity.Bytes }

// Reserve takes a part of the region.
func (r *region) Reserve(size quantity.Bytes) bool {
	if size > r.free {
		return false
	}
	r.free -= size
	return true
}

// Release returns a part of the region.
func (r *region) Release(size quantity.Bytes) { r.free += size }

// Allocate takes memory, or fails with an out-of-memory event.
func (j *Job) Allocate(size quantity.Bytes) (Block, error) {
	j.refused, j.asked = 0, size
	before := j.stats().Allocated
	b, err := j.cache.Allocate(size)
	j.world.account.allocated += j.stats().Allocated - before
	return b, j.fail(err)
}

// Free returns memory to the allocator.
func (j *Job) Free(b Block) {
	before := j.stats().Allocated
	j.cache.Free(b)
	j.world.account.allocated += j.stats().Allocated - before
}

// fail counts an out-of-memory event, and returns err.
func (j *Job) fail(err error) error {
	if errors.Is(err, allocator.ErrOutOfMemory) {
		j.world.account.failed(j)
	}
	return err
}

// stats returns the allocator's stats.
func (j *Job) stats() allocator.Stats {
	if j.cache == nil {
		return allocator.Stats{}
	}
	s := j.cache.Stats()
	if j.Region > 0 {
		s.Cached += j.Region - s.Reserved
		s.Reserved, s.PeakReserved, s.Returnable, s.LargestFree = j.Region, j.Region, 0, s.Cached
	}
	return s
}

// Used returns the memory that the process uses.
func (j *Job) Used() quantity.Bytes { return j.context + j.reserved }

// Flush makes the process free its cache because another needs it, and returns the bytes freed.
// Unless the process is idle, it stands still meanwhile.
func (j *Job) Flush() quantity.Bytes {
	if !j.Running() || j.cache == nil || j.Region > 0 {
		return 0
	}
	freed := j.cache.Flush()
	if !j.idle {
		j.wake += j.world.Cost.Sync
		j.stood += j.world.Cost.Sync
	}
	j.given += freed
	j.world.account.flushed(j, freed)
	return freed
}

// device is the GPU as a job's allocator sees it.
type device Job

// Reserve plays cudaMalloc.
func (d *device) Reserve(size quantity.Bytes) bool {
	j := (*Job)(d)
	w := j.world
	if !w.take(size) {
		j.refused++
		if j.refused == 1 && j.Region == 0 {
			j.owes(w.Cost.Sync) // the allocator now frees its cache
			return false
		}
		if !j.rescued(size) {
			return false
		}
	}
	j.reserved += size
	j.given -= min(j.given, size)
	j.owes(time.Duration(float64(w.Cost.PerGiB) * float64(size) / float64(quantity.GiB)))
	w.account.reserved(j)
	return true
}

// rescued asks for a rescue, and reports whether the driver then gave the memory that it had refused.
func (j *Job) rescued(size quantity.Bytes) bool {
	w := j.world
	if w.Grants != nil && w.Grants(j) {
		w.used += size
		return true
	}
	if w.Rescue != nil {
		j.owes(w.Rescue(j, size))
	}
	return w.take(size)
}

// owes makes the job stand still for a time.
func (j *Job) owes(d time.Duration) {
	j.owed += d
	j.stood += d
}

// Release plays cudaFree.
func (d *device) Release(size quantity.Bytes) {
	d.reserved -= size
	d.world.release(size)
}

func (w *World) take(size quantity.Bytes) bool {
	if w.used+size > w.Capacity() {
		return false
	}
	w.used += size
	return true
}

func (w *World) release(size quantity.Bytes) { w.used -= size }

// Spare returns how much a flush would free.
func (j *Job) Spare() quantity.Bytes {
	if !j.Running() || j.cache == nil || j.Region > 0 {
		return 0
	}
	return j.cache.Stats().Returnable
}
