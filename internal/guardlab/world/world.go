package world

import (
	"time"

	"vramscope/internal/quantity"
)

// Cost is the time that flushes and reservations take.
type Cost struct {
	Sync   time.Duration // of a flush: the process waits until its GPU work is done
	PerGiB time.Duration // of memory that is reserved from the driver
}

// Rescuer is asked for memory if an allocation would fail. It returns how long the asker waited.
// Then the allocation is tried once more.
type Rescuer func(asker *Job, size quantity.Bytes) (waited time.Duration)

// World is a GPU and its jobs.
type World struct {
	Total, Reserved quantity.Bytes // the GPU's memory, and the driver's part of it
	Cost            Cost
	Rescue          Rescuer         // nil: no memory is freed for an allocation that fails
	Contexts        bool            // a rescue is asked for CUDA contexts, too
	Grants          func(*Job) bool // whether a job gets memory for which there is no room; nil: no job does
	Jobs            []*Job

	seed    uint64
	now     time.Duration
	used    quantity.Bytes
	nextPID int
	records []record
	later   []action
	account account
}

// Tick is the time between two samples.
const Tick = time.Second

// action is something that happens at a time.
type action struct {
	at time.Duration
	do func()
}

// New returns a GPU on which jobs with these specs will run.
func New(seed uint64, total quantity.Bytes, cost Cost, specs []Spec) *World {
	const (
		driverPart = 128 // the driver keeps 1/128 of the GPU's memory: on an H100, 637 of 81,559 MiB
		firstPID   = 1000
	)
	w := &World{Total: total, Reserved: total / driverPart, Cost: cost, seed: seed, nextPID: firstPID}
	for i := range specs {
		w.Jobs = append(w.Jobs, &Job{Spec: specs[i], world: w, slot: i, wake: specs[i].Start})
	}
	return w
}

// Capacity returns how much memory processes can use.
func (w *World) Capacity() quantity.Bytes { return w.Total - w.Reserved }

// Used returns the memory that processes use.
func (w *World) Used() quantity.Bytes { return w.used }

// Now returns the time since the World began.
func (w *World) Now() time.Duration { return w.now }

// After makes something happen at a later time.
func (w *World) After(d time.Duration, do func()) {
	w.later = append(w.later, action{w.now + d, do})
}

// Run runs the jobs until a time, and calls tick, unless it is nil, at each second.
func (w *World) Run(until time.Duration, tick func()) {
	defer w.stop()
	for next := Tick; ; {
		at, do := w.soonest()
		if next <= at {
			if next > until {
				break
			}
			w.advance(next)
			if tick != nil {
				tick()
			}
			next += Tick
			continue
		}
		if at > until {
			break
		}
		w.advance(at)
		do()
	}
	w.advance(until)
}

// soonest returns what happens next: actions first, then jobs in their order.
func (w *World) soonest() (time.Duration, func()) {
	at, do := never, func() {}
	for _, j := range w.Jobs {
		if j.wake < at {
			at, do = j.wake, j.run
		}
	}
	for i := range w.later {
		if w.later[i].at <= at {
			at, do = w.later[i].at, func() { w.perform(i) }
		}
	}
	return at, do
}

func (w *World) perform(i int) {
	do := w.later[i].do
	w.later = append(w.later[:i], w.later[i+1:]...)
	do()
}

func (w *World) advance(to time.Duration) {
	w.account.pass(w, to-w.now)
	w.now = to
}

// stop ends the programs, so that their coroutines are freed.
func (w *World) stop() {
	for _, j := range w.Jobs {
		if j.Running() {
			j.stopProgram()
		}
	}
}
