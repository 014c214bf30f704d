package sampler

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// allocator converts the protocol's stats of a device of this size.
func allocator(a *probe.Allocator, size quantity.Bytes) snapshot.Allocator {
	out := snapshot.Allocator{
		Kind: a.Kind, Basis: string(a.Basis), ReturnableBound: snapshot.Bound(a.ReturnableBound),
		Reserved: optionalOf(a.ReservedBytes), Allocated: optionalOf(a.AllocatedBytes), Cached: optionalOf(a.CachedBytes),
		Fragmented: optionalOf(a.FragmentedBytes), Returnable: optionalOf(a.ReturnableBytes), Pending: optionalOf(a.PendingBytes),
		LargestFree: optionalOf(a.LargestFreeBytes), Asleep: optionalOf(a.AsleepBytes), Segments: optionalOf(a.Segments),
		OutOfMemoryCount: optionalOf(a.OutOfMemoryCount), AllocRetries: optionalOf(a.AllocRetries),
		FailedAllocations: optionalOf(a.FailedAllocations),
		PeakAllocated:     peakOf(a.PeakAllocatedBytes, size), PeakReserved: peakOf(a.PeakReservedBytes, size),
		Blocks: optionalOf(a.Blocks), StrandedSegments: optionalOf(a.StrandedSegments), Config: a.Config,
		Pools: pools(a.Pools), Largest: largest(a.Largest),
	}
	if out.Bound() == snapshot.About && out.Returnable.Or(0) == 0 && out.Allocated.Or(0) > 0 {
		out.Returnable = snapshot.Bytes{}
	}
	return out
}

// peakOf is a peak, unknown where the device never held it: a library also counts what
// was asleep beside it.
func peakOf(peak *quantity.Bytes, size quantity.Bytes) snapshot.Bytes {
	if size > 0 && valueOf(peak) > size {
		return snapshot.Bytes{}
	}
	return optionalOf(peak)
}

func pools(reported []probe.Pool) []snapshot.Pool {
	if len(reported) == 0 {
		return nil
	}
	out := make([]snapshot.Pool, len(reported))
	for i := range reported {
		p := &reported[i]
		out[i] = snapshot.Pool{
			Name: p.Name, Reserved: optionalOf(p.ReservedBytes), Allocated: optionalOf(p.AllocatedBytes),
			Fragmented: optionalOf(p.FragmentedBytes), Segments: optionalOf(p.Segments),
		}
	}
	return out
}

func largest(reported []probe.Allocation) []snapshot.Allocation {
	if len(reported) == 0 {
		return nil
	}
	out := make([]snapshot.Allocation, len(reported))
	for i := range reported {
		out[i] = snapshot.Allocation{Bytes: reported[i].Bytes, API: reported[i].API, Library: reported[i].Library}
		if age := reported[i].AgeSeconds; age != nil {
			out[i].Age = quantity.From(time.Duration(*age*float64(time.Second)), quantity.Probe)
		}
	}
	return out
}
