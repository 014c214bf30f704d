package simulator

import (
	"vramscope/internal/quantity"
	"vramscope/probe"
)

// maxFailures is how many a probe keeps.
const maxFailures = 16

// observe notes an allocation of the task that failed, as PyTorch's out-of-memory
// observers see it.
func (t *task) observe(size quantity.Bytes) {
	s, free := t.cache.Stats(), t.frame.capacity()-t.frame.used
	// A probe's report has the list as it was.
	t.failures = append(t.failures[:len(t.failures):len(t.failures)], probe.FailedAllocation{
		TimeNS: t.epoch.Add(t.now).UnixNano(), Bytes: size, FreeBytes: &free, LimitBytes: &t.frame.total, Allocator: "pytorch",
		ReservedBytes: &s.Reserved, AllocatedBytes: &s.Allocated, LargestFreeBytes: &s.LargestFree,
	})
	t.failures = t.failures[max(len(t.failures)-maxFailures, 0):]
}
