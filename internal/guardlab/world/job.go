package world

import (
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/simulator/allocator"
)

// Spec is a job.
type Spec struct {
	Name       string // the name of its program and of its user
	Importance int    // −1000 to 1000
	Important  bool   // its out-of-memory events are counted separately
	Context    quantity.Bytes
	Region     quantity.Bytes // reserved at the start, as JAX does; 0: PyTorch's allocator
	Start      time.Duration
	Restart    time.Duration // from an out-of-memory event to the next start
	Pause      time.Duration // from a regular end to the next start
	// Program runs one life of the job, as a coroutine: Job.Compute and Job.Idle let time pass and
	// other jobs run. It returns nil if the work is done, and any error that the Job's methods have
	// returned.
	Program func(*Job) error
}

// Job is a job that runs again and again, each time in a new process.
type Job struct {
	Spec
	Random *rand.Rand // the random numbers of this life

	world    *World
	slot     int
	lives    int
	identity process.Identity
	started  time.Duration
	wake     time.Duration
	idle     bool // the job waits for a person, not for the GPU

	// The coroutine.
	yield func(time.Duration) bool
	next  func() (time.Duration, bool)
	end   func()
	err   error

	// Memory.
	cache    *allocator.Caching
	context  quantity.Bytes // 0 before the context is there
	reserved quantity.Bytes
	given    quantity.Bytes           // freed by flushes in this life, and not reserved again
	asked    quantity.Bytes           // the size of the newest allocation
	failed   []probe.FailedAllocation // the newest failed allocation
	refused  int                      // how often the driver refused the newest allocation
	owed     time.Duration            // time that memory has cost and that has not passed yet

	// Work, as the time that it takes without waiting.
	done, unsaved time.Duration
	stood         time.Duration // how long the job stood still: for flushes, for rescues, and while it reserved memory
}

const never = time.Duration(math.MaxInt64)

// errEnded unwinds a program when the World ends.
var errEnded = errors.New("world: the end")

// Running reports whether there is a process.
func (j *Job) Running() bool { return j.next != nil }

// Identity returns the identity of the process, or of the last one that ran.
func (j *Job) Identity() process.Identity { return j.identity }

// Done returns the work that the job has done and not lost.
func (j *Job) Done() time.Duration { return j.done + j.unsaved }

// run runs the program until it waits. It starts the program if it does not run.
func (j *Job) run() {
	if !j.Running() {
		j.start()
	}
	wait, ok := j.next()
	if ok {
		j.wake = j.world.now + wait
		return
	}
	j.stopProgram()
	j.wake = j.world.now + j.Pause
	if j.err != nil {
		j.wake = j.world.now + j.Restart
		j.unsaved = 0
	}
	j.done, j.unsaved = j.done+j.unsaved, 0
}

// start makes a process. Each life has its own random numbers, so that a life that ends early does
// not change later lives.
func (j *Job) start() {
	w := j.world
	const hostNamespace = 4026531836
	j.lives++
	w.nextPID++
	j.identity = process.Identity{PID: w.nextPID, StartTime: uint64(w.now/(10*time.Millisecond)) + 1, Namespace: hostNamespace}
	j.started, j.idle = w.now, false
	j.Random = rand.New(rand.NewPCG(w.seed, uint64(j.slot)<<32|uint64(j.lives)))
	j.next, j.end = iter.Pull(func(yield func(time.Duration) bool) {
		j.yield = yield
		if j.err = j.open(); j.err == nil {
			j.err = j.Program(j)
		}
	})
}

// stopProgram ends the process and releases its memory.
func (j *Job) stopProgram() {
	if len(j.failed) > 0 {
		j.leaveRecord()
	}
	j.end()
	j.next, j.end, j.yield = nil, nil, nil
	j.world.account.allocated -= j.stats().Allocated
	j.world.release(j.context + j.reserved)
	j.cache, j.context, j.reserved, j.given, j.owed, j.failed = nil, 0, 0, 0, 0, nil
}

// Compute uses the GPU for a time, and for the time that memory calls have cost since the last
// Compute.
func (j *Job) Compute(d time.Duration) error { return j.wait(d, false) }

// Idle waits for a person.
func (j *Job) Idle(d time.Duration) error { return j.wait(d, true) }

func (j *Job) wait(d time.Duration, idle bool) error {
	j.idle = idle
	d, j.owed = d+j.owed, 0
	if !j.yield(d) {
		return errEnded
	}
	j.idle = false
	return nil
}

// Work counts work that is done and would be lost in an out-of-memory event.
func (j *Job) Work(d time.Duration) { j.unsaved += d }

// Save keeps the work so far.
func (j *Job) Save() { j.done, j.unsaved = j.done+j.unsaved, 0 }
