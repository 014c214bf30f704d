package cuda

import (
	"vramscope/internal/quantity"
	"vramscope/probe"
)

// poolStats are what is known of a pool.
type poolStats struct {
	reserved, used quantity.Bytes
	// residue is what the last full release had to leave idle: it lay between
	// live blocks. Unknown before the first.
	residue quantity.Optional[quantity.Bytes]
	// The highest since the pool was made; 0 where that is not told.
	peakReserved, peakUsed quantity.Bytes
}

func (b poolStats) idle() quantity.Bytes { return max(b.reserved-b.used, 0) }

// fragmented is how much of the residue is idle still. What has been taken
// and freed again since lies where it lay.
func (b poolStats) fragmented() quantity.Optional[quantity.Bytes] {
	residue, known := b.residue.Value()
	if !known {
		return b.residue
	}
	return quantity.From(min(residue, b.idle()), quantity.Computed)
}

// cached is what a flush gives back at most. What has been freed since the last
// one may lie between live blocks as well, which only the next will show.
func (b poolStats) cached() quantity.Bytes { return b.idle() - b.fragmented().Or(0) }

// report puts the stats into the protocol's words.
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

// reportRaw is the report of allocations outside of pools: all of it is live.
func reportRaw(bytes quantity.Bytes, allocations int) probe.Allocator {
	return probe.Allocator{
		Kind:          "raw",
		ReservedBytes: &bytes, AllocatedBytes: &bytes,
		CachedBytes: new(quantity.Bytes), FragmentedBytes: new(quantity.Bytes), ReturnableBytes: new(quantity.Bytes),
		Segments: new(int64(allocations)), Blocks: new(int64(allocations)),
	}
}
