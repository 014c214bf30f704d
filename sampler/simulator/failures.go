package simulator

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/probe"
)

// failure is an allocation that failed, as PyTorch's out-of-memory observers see it.
type failure struct {
	at                               time.Duration
	size, free, limit                quantity.Bytes
	reserved, allocated, largestFree quantity.Bytes
}

// mostFailures is how many a probe keeps.
const mostFailures = 16

// observe notes an allocation of the task that failed.
func (t *task) observe(size quantity.Bytes) {
	s := t.cache.Stats()
	// A probe's report has the list as it was.
	t.failures = append(t.failures[:len(t.failures):len(t.failures)], failure{
		at: t.now, size: size, free: t.frame.capacity() - t.frame.used, limit: t.frame.total,
		reserved: s.Reserved, allocated: s.Allocated, largestFree: s.LargestFree,
	})
	t.failures = t.failures[max(len(t.failures)-mostFailures, 0):]
}

// reported is a failure in the form of the protocol.
func (f failure) reported(epoch time.Time) probe.FailedAllocation {
	return probe.FailedAllocation{
		TimeNS: epoch.Add(f.at).UnixNano(), Bytes: f.size, FreeBytes: &f.free, LimitBytes: &f.limit, Allocator: "pytorch",
		ReservedBytes: &f.reserved, AllocatedBytes: &f.allocated, LargestFreeBytes: &f.largestFree,
	}
}
