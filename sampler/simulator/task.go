package simulator

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

const never = time.Duration(math.MaxInt64)

// memory is what every allocator offers to the task that owns it.
type memory interface {
	Allocate(quantity.Bytes) (*allocator.Block, error)
	Free(*allocator.Block)
	Flush() quantity.Bytes
	Stats() allocator.Stats
}

// task is one running process.
//
//	used = context + plain + Σ reserved
type task struct {
	role     *role
	identity process.Identity
	started  time.Duration // since the epoch; negative for what ran before
	job      process.Job
	board    *board
	instance *instance // nil: it has the whole GPU
	frame    *frame
	seed     uint64
	random   *rand.Rand
	program  program
	probe    ear

	memory  memory             // nil: its allocator is not known, or not there yet
	cache   *allocator.Caching // the memory of a PyTorch task
	plain   quantity.Bytes     // got from the driver without an allocator
	busy    float64            // how much of the last step it kept the GPU busy, 0 to 1
	ends    time.Duration
	failed  bool // it is on its way out: no more steps
	stopped bool // by SIGSTOP
}

// used is what the driver says the task uses.
func (t *task) used() quantity.Bytes {
	used := t.role.context + t.plain
	if t.memory != nil {
		used += t.memory.Stats().Reserved
	}
	return used
}

// hold makes the memory that the task has without an allocator that much.
func (t *task) hold(size quantity.Bytes) error {
	if more := size - t.plain; more > 0 && !t.frame.Reserve(more) {
		return fmt.Errorf("hold %s: %w", size, allocator.ErrOutOfMemory)
	} else if more < 0 {
		t.frame.Release(-more)
	}
	t.plain = size
	return nil
}

// run is one step of the task's life.
func (t *task) run(now time.Duration) {
	t.busy = 0
	if t.failed || t.stopped {
		return
	}
	if err := t.program.step(t, now); err != nil {
		// A traceback is written and libraries shut down before the memory
		// comes back; a monitor has the time to see why.
		const lastWords = 2 * time.Second
		t.failed, t.busy, t.ends = true, 0, now+lastWords
	}
}

// release gives all memory back, as the driver does when a process ends.
func (t *task) release() {
	t.frame.Release(t.used())
	t.memory, t.cache, t.plain = nil, nil, 0
}

// stream numbers the task's noise.
func (t *task) stream() uint64 { return uint64(t.identity.PID) << 8 }
