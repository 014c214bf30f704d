package regime

import (
	"math/rand/v2"
	"slices"
)

// Process is a process of a shared GPU.
type Process struct {
	PID     int
	Kind    string
	Command string
	Began   float64 // seconds
	Used    float64 // bytes
}

// Shared is a GPU of 80 GiB that jobs of all kinds come to, share and leave. An allocation for
// which there is no room is refused.
type Shared struct {
	r     *rand.Rand
	now   float64
	comes float64 // when the next job comes
	pids  int
	jobs  []*job
}

// Refusal is a failed allocation.
type Refusal struct {
	Kind string  // of the process
	Grew float64 // seconds since a slow leak or ramp began; 0: there was none
}

// job is one job. After one of its processes has run out of memory, the next process does the same work.
type job struct {
	Process
	kind  *kind
	seed  uint64
	tries int     // how many more times a process starts after one has failed
	from  float64 // when its process starts
	work  work
}

// work is the course of a process's memory.
type work struct {
	level   part    // the memory at an age of the process
	lasts   float64 // seconds
	expects float64 // the most that the process's user expects it to use, bytes
	starts  float64 // the process's age when it begins to grow without end; 0: it never does
}

// NewShared returns an empty GPU.
func NewShared(r *rand.Rand) *Shared { return &Shared{r: r} }

// Next returns the processes of the next second, and the allocation refused in it, usually nil.
func (s *Shared) Next() ([]Process, *Refusal) {
	for s.now >= s.comes {
		s.comes += 3000 * s.r.ExpFloat64()
		s.admit()
	}
	var running []Process
	var refusal *Refusal
	free := Capacity
	for _, j := range s.jobs {
		free -= j.Used
	}
	s.jobs = slices.DeleteFunc(s.jobs, func(j *job) bool {
		if s.now < j.from {
			return false
		}
		if j.PID == 0 {
			s.pids++
			j.PID, j.Began, j.work = s.pids, s.now, j.kind.make(Seeded(j.seed))
		}
		age := s.now - j.from
		if age >= j.work.lasts {
			free += j.Used
			return true
		}
		wants := max(j.work.level(age), contextSize)
		if wants-j.Used <= free {
			free -= wants - j.Used
			j.Used = wants
			running = append(running, j.Process)
			return false
		}
		refusal = &Refusal{Kind: j.Kind}
		if j.work.starts > 0 && age > j.work.starts {
			refusal.Grew = age - j.work.starts
		}
		free += j.Used
		j.PID, j.Used, j.from = 0, 0, s.now+logarithmic(s.r, 5, 120)
		j.tries--
		return j.tries < 0
	})
	s.now++
	return running, refusal
}

// contextSize is the least that a process uses, in bytes.
const contextSize = 0.45 * GiB

// admit draws a job. The job's user takes this GPU if there is room for what all its jobs are
// expected to use, and once in forty times without looking.
func (s *Shared) admit() {
	draw := s.r.Float64()
	i := slices.IndexFunc(kinds, func(k kind) bool { draw -= k.share; return draw < 0 })
	k := &kinds[max(i, 0)]
	j := &job{kind: k, seed: s.r.Uint64(), from: s.now, tries: s.r.IntN(3), Process: Process{Kind: k.name}}
	j.Command = k.commands[j.seed%uint64(len(k.commands))]
	j.work = k.make(Seeded(j.seed))
	sum := j.work.expects
	for _, other := range s.jobs {
		sum += other.work.expects
	}
	if sum <= Capacity || s.r.Float64() < 0.025 {
		s.jobs = append(s.jobs, j)
	}
}
