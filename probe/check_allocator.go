package probe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
)

var errKind = errors.New("its kind is empty or too long")

func (a *Allocator) check() error {
	if a.Kind == "" || len(a.Kind) > maxText {
		return errKind
	}
	switch a.Basis {
	case "", Stranded, LargestFree, PostFlush:
	default:
		// A basis of a later minor version: its figures are still valid.
		a.Basis = ""
	}
	switch a.ReturnableBound {
	case "", Most, Least, About:
	default:
		a.ReturnableBound = About
	}
	if err := a.checkParts(); err != nil {
		return err
	}
	for _, c := range []struct {
		name  string
		count *int64
	}{
		{"segments", a.Segments}, {"out_of_memory_count", a.OutOfMemoryCount}, {"alloc_retries", a.AllocRetries},
		{"failed_allocations", a.FailedAllocations}, {"blocks", a.Blocks}, {"stranded_segments", a.StrandedSegments},
	} {
		if !countable(c.count) {
			return fmt.Errorf("%s is %d", c.name, *c.count)
		}
	}
	for _, peak := range []*quantity.Bytes{a.PeakAllocatedBytes, a.PeakReservedBytes} {
		if peak != nil && !plausible(*peak) {
			return fmt.Errorf("a peak is %d bytes", *peak)
		}
	}
	for name, bytes := range map[string]*quantity.Bytes{"asleep_bytes": a.AsleepBytes, "managed_bytes": a.ManagedBytes} {
		if bytes != nil && !plausible(*bytes) {
			return fmt.Errorf("%s is %d", name, *bytes)
		}
	}
	a.Config = clip(a.Config)
	if err := a.checkPools(); err != nil {
		return err
	}
	return a.checkLargest()
}

func countable(count *int64) bool { return count == nil || *count >= 0 && *count <= maxCount }

// checkPools bounds each pool. Their sum is not checked: nothing relies on it.
func (a *Allocator) checkPools() error {
	a.Pools = a.Pools[:min(len(a.Pools), maxPools)]
	for i := range a.Pools {
		p := &a.Pools[i]
		p.Name = clip(p.Name)
		for _, figure := range []*quantity.Bytes{p.ReservedBytes, p.AllocatedBytes, p.FragmentedBytes} {
			if figure != nil && !plausible(*figure) {
				return fmt.Errorf("pool %q has a figure of %d bytes", p.Name, *figure)
			}
		}
		if !countable(p.Segments) {
			return fmt.Errorf("pool %q has %d segments", p.Name, *p.Segments)
		}
	}
	return nil
}

func (a *Allocator) checkLargest() error {
	a.Largest = a.Largest[:min(len(a.Largest), maxLargest)]
	for i := range a.Largest {
		l := &a.Largest[i]
		if !plausible(l.Bytes) {
			return fmt.Errorf("an allocation is %d bytes", l.Bytes)
		}
		if age := l.AgeSeconds; age != nil && (*age < 0 || *age > maxAge) {
			return fmt.Errorf("an allocation is %g s old", *age)
		}
		l.API, l.Library = clip(l.API), clip(l.Library)
	}
	return nil
}

// checkFailed bounds the allocations that failed and those that were rescued, and sorts them.
func (d *Device) checkFailed() error {
	d.OutOfMemory = d.OutOfMemory[max(len(d.OutOfMemory)-maxFailed, 0):]
	for i := range d.OutOfMemory {
		f := &d.OutOfMemory[i]
		if f.TimeNS <= 0 {
			return fmt.Errorf("an allocation failed at %d", f.TimeNS)
		}
		for _, figure := range []*quantity.Bytes{&f.Bytes, f.FreeBytes, f.LimitBytes, f.ReservedBytes, f.AllocatedBytes, f.LargestFreeBytes} {
			if figure != nil && !plausible(*figure) {
				return fmt.Errorf("an allocation that failed has a figure of %d bytes", *figure)
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

// checkHeld bounds the holders of memory, and drops them if they hold more than was allocated.
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
	if f.AllocatedBytes == nil || sum > *f.AllocatedBytes {
		f.Held = nil
	}
}

// size returns what the allocator has reserved, or the sum of its known parts.
func (a *Allocator) size() quantity.Bytes {
	if a.ReservedBytes != nil {
		return *a.ReservedBytes
	}
	var sum quantity.Bytes
	for _, part := range [...]*quantity.Bytes{a.AllocatedBytes, a.CachedBytes, a.FragmentedBytes} {
		if part != nil {
			sum += *part
		}
	}
	return sum
}

// checkParts checks that neither a part nor their sum exceeds reserved, and that the sum equals
// reserved if the allocator reports all parts.
func (a *Allocator) checkParts() error {
	if a.ReservedBytes != nil && !plausible(*a.ReservedBytes) {
		return fmt.Errorf("reserved_bytes is %d", *a.ReservedBytes)
	}
	for _, part := range []struct {
		name  string
		bytes *quantity.Bytes
	}{
		{"allocated_bytes", a.AllocatedBytes}, {"cached_bytes", a.CachedBytes}, {"fragmented_bytes", a.FragmentedBytes},
		{"returnable_bytes", a.ReturnableBytes}, {"pending_bytes", a.PendingBytes}, {"largest_free_bytes", a.LargestFreeBytes},
	} {
		switch {
		case part.bytes == nil:
		case !plausible(*part.bytes):
			return fmt.Errorf("%s is %d", part.name, *part.bytes)
		case a.ReservedBytes != nil && *part.bytes > *a.ReservedBytes:
			return fmt.Errorf("%s is %d, more than reserved_bytes, %d", part.name, *part.bytes, *a.ReservedBytes)
		}
	}
	if a.ReservedBytes == nil {
		return nil
	}
	var sum quantity.Bytes
	all := true
	for _, part := range [...]*quantity.Bytes{a.AllocatedBytes, a.CachedBytes, a.FragmentedBytes} {
		if all = all && part != nil; part != nil {
			sum += *part
		}
	}
	if sum > *a.ReservedBytes || all && sum < *a.ReservedBytes {
		return fmt.Errorf("allocated, cached and fragmented sum to %d, reserved_bytes is %d", sum, *a.ReservedBytes)
	}
	return nil
}
