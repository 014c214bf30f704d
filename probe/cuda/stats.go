package cuda

import (
	"vramscope/internal/quantity"
	"vramscope/probe"
)

// poolStats are the stats of a pool.
type poolStats struct {
	reserved, used quantity.Bytes
	// residue is the unused memory that the last full flush could not free, between
	// live blocks. Unknown before the first.
	residue quantity.Optional[quantity.Bytes]
	// Peaks since the pool was made; 0 if unknown.
	peakReserved, peakUsed quantity.Bytes
}

func (b poolStats) idle() quantity.Bytes { return max(b.reserved-b.used, 0) }

// fragmented is how much of the residue is still unused. Blocks allocated and freed
// since then have not moved.
func (b poolStats) fragmented() quantity.Optional[quantity.Bytes] {
	residue, known := b.residue.Value()
	if !known {
		return b.residue
	}
	return quantity.From(min(residue, b.idle()), quantity.Computed)
}

// cached is the most that a flush can free. Memory freed since the last flush may be
// fragmented too, which only the next shows.
func (b poolStats) cached() quantity.Bytes { return b.idle() - b.fragmented().Or(0) }

// report converts the stats to the protocol.
func (b poolStats) report(handle uint64) probe.Allocator {
	a := probe.Allocator{
		Kind: "cuda_pool", Handle: handle, Basis: probe.PostFlush,
		ReservedBytes: &b.reserved, AllocatedBytes: new(b.reserved - b.idle()),
		CachedBytes: new(b.cached()), ReturnableBytes: new(b.cached()),
	}
	if fragmented, known := b.fragmented().Value(); known {
		a.FragmentedBytes = &fragmented
	}
	if b.peakReserved > 0 {
		a.PeakReservedBytes, a.PeakAllocatedBytes = &b.peakReserved, &b.peakUsed
	}
	return a
}

// reportRaw is the report of allocations outside pools, all of them live.
func reportRaw(bytes quantity.Bytes, allocations int) probe.Allocator {
	return probe.Allocator{
		Kind:          "raw",
		ReservedBytes: &bytes, AllocatedBytes: &bytes,
		CachedBytes: new(quantity.Bytes), FragmentedBytes: new(quantity.Bytes), ReturnableBytes: new(quantity.Bytes),
		Segments: new(int64(allocations)), Blocks: new(int64(allocations)),
	}
}
