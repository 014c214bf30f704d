package probe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
)

var errKind = errors.New("its kind is empty or too long")

func checkAllocator(a *Allocator) error {
	if a.Kind == "" || len(a.Kind) > maxText {
		return errKind
	}
	switch a.Basis {
	case "", snapshot.Stranded, snapshot.LargestFree, snapshot.PostFlush:
	default:
		// The basis is from a later minor version. The figures are still valid.
		a.Basis = ""
	}
	switch a.ReturnableBound {
	case snapshot.Exactly, snapshot.Most, snapshot.Least, snapshot.About:
	default:
		a.ReturnableBound = snapshot.About
	}
	if err := checkParts(a); err != nil {
		return err
	}
	for _, c := range []struct {
		name  string
		count quantity.Optional[int64]
	}{
		{"segments", a.Segments}, {"out_of_memory_count", a.OutOfMemoryCount}, {"alloc_retries", a.AllocRetries},
		{"failed_allocations", a.FailedAllocations}, {"blocks", a.Blocks}, {"stranded_segments", a.StrandedSegments},
	} {
		if !countable(c.count) {
			return fmt.Errorf("%s is %d", c.name, c.count.Or(0))
		}
	}
	for _, peak := range []*snapshot.Bytes{&a.PeakAllocated, &a.PeakReserved} {
		if !possible(peak) {
			return fmt.Errorf("a peak is %d bytes", peak.Or(0))
		}
	}
	for name, bytes := range map[string]*snapshot.Bytes{"asleep_bytes": &a.Asleep, "managed_bytes": &a.Managed} {
		if !possible(bytes) {
			return fmt.Errorf("%s is %d", name, bytes.Or(0))
		}
	}
	a.Config = clip(a.Config)
	if err := checkPools(a); err != nil {
		return err
	}
	return checkLargest(a)
}

func countable(count quantity.Optional[int64]) bool {
	return count.Or(0) >= 0 && count.Or(0) <= maxCount
}

// checkPools bounds each pool. Their sum is not checked: nothing relies on it.
func checkPools(a *Allocator) error {
	a.Pools = a.Pools[:min(len(a.Pools), maxPools)]
	for i := range a.Pools {
		p := &a.Pools[i]
		p.Name = clip(p.Name)
		for _, figure := range []*snapshot.Bytes{&p.Reserved, &p.Allocated, &p.Fragmented} {
			if !possible(figure) {
				return fmt.Errorf("pool %q has a figure of %d bytes", p.Name, figure.Or(0))
			}
		}
		if !countable(p.Segments) {
			return fmt.Errorf("pool %q has %d segments", p.Name, p.Segments.Or(0))
		}
	}
	return nil
}

func checkLargest(a *Allocator) error {
	a.Largest = a.Largest[:min(len(a.Largest), maxLargest)]
	for i := range a.Largest {
		l := &a.Largest[i]
		if !plausible(l.Bytes) {
			return fmt.Errorf("an allocation is %d bytes", l.Bytes)
		}
		if age := l.AgeSeconds.Or(0); age < 0 || age > maxAge {
			return fmt.Errorf("an allocation is %g s old", age)
		}
		l.API, l.Library = clip(l.API), clip(l.Library)
	}
	return nil
}

// checkFailed bounds the allocations that failed, and sorts them by time. It also checks the rescues.
func (d *Device) checkFailed() error {
	d.OutOfMemory = d.OutOfMemory[max(len(d.OutOfMemory)-maxFailed, 0):]
	for i := range d.OutOfMemory {
		f := &d.OutOfMemory[i]
		if f.TimeNS <= 0 {
			return fmt.Errorf("an allocation failed at %d", f.TimeNS)
		}
		if !plausible(f.Bytes) {
			return fmt.Errorf("an allocation that failed has a figure of %d bytes", f.Bytes)
		}
		for _, figure := range []*snapshot.Bytes{&f.Free, &f.Limit, &f.Reserved, &f.Allocated, &f.LargestFree} {
			if !possible(figure) {
				return fmt.Errorf("an allocation that failed has a figure of %d bytes", figure.Or(0))
			}
		}
		f.Allocator, f.API, f.Library, f.Trace = clip(f.Allocator), clip(f.API), clip(f.Library), clip(f.Trace)
		f.Stack = clipAll(f.Stack, maxStack)
		f.checkHeld()
	}
	if r := d.Rescues; r != nil && (r.Succeeded < 0 || r.Asked < r.Succeeded || r.Last.TimeNS <= 0 || !plausible(r.Last.Bytes) || r.Last.WaitedMS < 0) {
		return fmt.Errorf("impossible rescues: %+v", *r)
	}
	sorted.Stable(d.OutOfMemory, func(a, b FailedAllocation) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
	return nil
}

// checkHeld bounds the holders of memory. It drops all of them if one is impossible, or if the
// allocated memory is unknown or less than their sum.
func (f *FailedAllocation) checkHeld() {
	var sum quantity.Bytes
	f.Held = f.Held[:min(len(f.Held), maxHeld)]
	for i := range f.Held {
		h := &f.Held[i]
		h.Name = clip(h.Name)
		if !slices.Contains(HeldClasses, h.Class) || !plausible(h.Bytes) {
			f.Held = nil
			return
		}
		sum += h.Bytes
	}
	if allocated, known := f.Allocated.Value(); !known || sum > allocated {
		f.Held = nil
	}
}

func partsOf(a *Allocator) snapshot.Bytes { return quantity.Sum(a.Allocated, a.Cached, a.Fragmented) }

// checkParts compares the parts of an allocator with reserved, if that is known. No part may exceed
// it. Allocated, cached and fragmented must sum to it, or to less if one of them is unknown.
func checkParts(a *Allocator) error {
	if !possible(&a.Reserved) {
		return fmt.Errorf("reserved_bytes is %d", a.Reserved.Or(0))
	}
	reserved, known := a.Reserved.Value()
	for _, part := range []struct {
		name   string
		figure *snapshot.Bytes
	}{
		{"allocated_bytes", &a.Allocated}, {"cached_bytes", &a.Cached}, {"fragmented_bytes", &a.Fragmented},
		{"returnable_bytes", &a.Returnable}, {"pending_bytes", &a.Pending}, {"largest_free_bytes", &a.LargestFree},
	} {
		bytes := part.figure.Or(0)
		switch {
		case !possible(part.figure):
			return fmt.Errorf("%s is %d", part.name, bytes)
		case known && bytes > reserved:
			return fmt.Errorf("%s is %d, more than reserved_bytes, %d", part.name, bytes, reserved)
		}
	}
	sum, all := partsOf(a).Or(0), quantity.All(a.Allocated, a.Cached, a.Fragmented).Known()
	if known && (sum > reserved || all && sum < reserved) {
		return fmt.Errorf("allocated, cached and fragmented sum to %d, reserved_bytes is %d", sum, reserved)
	}
	return nil
}
