package simulator

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/simulator/allocator"
)

const never = time.Duration(math.MaxInt64)

// task is one running process of a slot.
//
//	used = context + plain + reserved
type task struct {
	*slot
	box      *Box
	identity process.Identity
	started  time.Duration // since the epoch; negative before it
	job      process.Job
	random   *rand.Rand
	program  program
	probe    lastReport
	now      time.Duration            // of the last step
	failures []probe.FailedAllocation // the newest last

	cache   *allocator.Caching // the memory of a PyTorch task
	region  *allocator.Stats   // the memory of a JAX task; nil before it is reserved
	plain   quantity.Bytes     // memory that comes from the driver without an allocator
	busy    float64            // share of the last step in which the GPU was busy
	ends    time.Duration
	failed  bool // exiting: no more steps
	stopped bool // by SIGSTOP
	waits   bool // waiting for Retry
	retries bool // in Retry: a second failure is final
}

func byPID(a, b *task) int { return cmp.Compare(a.identity.PID, b.identity.PID) }

func (t *task) used() quantity.Bytes {
	stats, _ := t.stats()
	return t.role.context + t.plain + stats.Reserved
}

// stats returns the stats of the task's allocator, false if there are none, or none yet.
func (t *task) stats() (s allocator.Stats, known bool) {
	switch {
	case t.cache != nil:
		return t.cache.Stats(), true
	case t.region != nil:
		return *t.region, true
	}
	return s, false
}

// hold sets the size of the memory that the task has without an allocator.
func (t *task) hold(size quantity.Bytes) error {
	if more := size - t.plain; more > 0 && !t.frame.Reserve(more) {
		return fmt.Errorf("hold %s: %w", size, allocator.ErrOutOfMemory)
	} else if more < 0 {
		t.frame.Release(-more)
	}
	t.plain = size
	return nil
}

func (t *task) run(now time.Duration) {
	t.busy, t.now = 0, now
	if t.failed || t.stopped || t.waits {
		return
	}
	if err := t.program.step(t, now); err != nil && !t.waits {
		const lastWords = 2 * time.Second // to write a traceback and unload libraries
		t.failed, t.busy, t.ends = true, 0, now+lastWords
	}
}

// release frees all memory, as the driver does when a process exits.
func (t *task) release() {
	t.frame.Release(t.used())
	t.region, t.cache, t.plain = nil, nil, 0
}

// stream returns the number of the task's first stream of noise.
func (t *task) stream() uint64 { return uint64(t.identity.PID) << 8 }
