package world

import (
	"time"

	"vramscope/internal/quantity"
)

// Result is the result of a run.
type Result struct {
	Time        time.Duration
	OutOfMemory []Failure
	Flushes     []Flush
	Allocated   float64 // the allocated share of the GPU's memory, averaged over time
	Work        time.Duration
	Important   time.Duration // work of the important jobs
	Stood       time.Duration // how long the other jobs stood still: for flushes, for rescues, and while they reserved memory
}

// Failure is an out-of-memory event.
type Failure struct {
	At        time.Duration
	Job       string
	Important bool
	Gave      bool // the allocation would not have failed if the job had kept the memory that flushes freed
}

// Flush is a flush for another job.
type Flush struct {
	At    time.Duration
	Job   string
	Freed quantity.Bytes
	Back  quantity.Bytes // how much of Freed the process reserved again within a minute
}

// account measures a run.
type account struct {
	allocated quantity.Bytes // by all jobs, now
	byteHours float64
	failures  []Failure
	flushes   []Flush
	open      []openFlush // oldest first
}

// openFlush is a flush of the last minute.
type openFlush struct {
	index int // the index in account.flushes
	job   *Job
	life  int
	floor quantity.Bytes // what the process had reserved after the flush
}

const comesBack = time.Minute

func (a *account) pass(w *World, d time.Duration) {
	a.byteHours += float64(a.allocated) * d.Hours()
	for len(a.open) > 0 && w.now+d-a.flushes[a.open[0].index].At > comesBack {
		a.open = a.open[1:]
	}
}

func (a *account) failed(j *Job) {
	j.noteFailed()
	a.failures = append(a.failures, Failure{At: j.world.now, Job: j.Name, Important: j.Important, Gave: j.given > 0 && j.given >= j.world.used+j.asked-j.world.Capacity()})
}

func (a *account) flushed(j *Job, freed quantity.Bytes) {
	a.flushes = append(a.flushes, Flush{At: j.world.now, Job: j.Name, Freed: freed})
	a.open = append(a.open, openFlush{len(a.flushes) - 1, j, j.lives, j.reserved})
}

func (a *account) reserved(j *Job) {
	for _, f := range a.open {
		if flush := &a.flushes[f.index]; f.job == j && f.life == j.lives {
			flush.Back = max(flush.Back, min(flush.Freed, j.reserved-f.floor))
		}
	}
}

// Result returns the results of the run so far.
func (w *World) Result() Result {
	r := Result{Time: w.now, OutOfMemory: w.account.failures, Flushes: w.account.flushes}
	r.Allocated = w.account.byteHours / (float64(w.Total) * w.now.Hours())
	for _, j := range w.Jobs {
		r.Work += j.Done()
		if j.Important {
			r.Important += j.Done()
		} else {
			r.Stood += j.stood
		}
	}
	return r
}
