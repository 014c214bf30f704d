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

func (s poolStats) idle() quantity.Bytes { return max(s.reserved-s.used, 0) }

// fragmented is how much of the residue is still unused. Blocks allocated and freed
// since then have not moved.
func (s poolStats) fragmented() quantity.Optional[quantity.Bytes] {
	residue, known := s.residue.Value()
	if !known {
		return s.residue
	}
	return quantity.From(min(residue, s.idle()), quantity.Computed)
}

// cached is the most that a flush can free. Memory freed since the last flush may be
// fragmented too, which only the next shows.
func (s poolStats) cached() quantity.Bytes { return s.idle() - s.fragmented().Or(0) }

// report converts the stats to the protocol.
func (s poolStats) report(handle uint64) probe.Allocator {
	a := probe.Allocator{
		Kind: "cuda_pool", Handle: handle, Basis: probe.PostFlush,
		ReservedBytes: &s.reserved, AllocatedBytes: new(s.reserved - s.idle()),
		CachedBytes: new(s.cached()), ReturnableBytes: new(s.cached()),
	}
	if fragmented, known := s.fragmented().Value(); known {
		a.FragmentedBytes = &fragmented
	}
	if s.peakReserved > 0 {
		a.PeakReservedBytes, a.PeakAllocatedBytes = &s.peakReserved, &s.peakUsed
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
