package simulator

import (
	"cmp"
	"math/rand/v2"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/probe"
)

// runtime is the library whose allocator a task uses.
type runtime uint8

const (
	opaque  runtime = iota // no probe
	pytorch                // caching allocator
	jax                    // one preallocated region
)

// role is a program of the story: its user, its command, and when it starts and ends.
type role struct {
	user    user
	command []string
	comm    string
	parent  int // the pid of the parent; 0: unknown
	job     process.Job
	foreign bool // the process is not in this /proc
	nsPID   int  // the pid in the role's own container; 0: no container

	instance int // the number of the MIG instance, from 1; 0: the whole GPU

	kind    nvml.ProcessType
	runtime runtime
	version string
	config  string         // of PyTorch's allocator
	entered string         // how the probe was started; "": by run
	context quantity.Bytes // CUDA context, kernels, libraries
	host    quantity.Bytes
	cpu     float64 // per cent of a core
	program func() program

	pid   int           // the pid of the process that runs when the story begins
	age   time.Duration // the age of that process; 0: no process runs when the story begins
	first time.Duration // when the first process starts, if age is 0
	life  span          // how long a process lives; zero: until it fails
	pause span          // from an end to the next start; zero: no next start
}

// playing returns a role's function program, which returns a copy of begins for each task.
func playing[P any, T interface {
	*P
	program
}](begins P) func() program {
	return func() program { p := begins; return T(&p) }
}

type user struct {
	name string
	uid  uint32
}

type span struct{ shortest, longest time.Duration }

func (s span) draw(random *rand.Rand) time.Duration {
	if s.longest <= s.shortest {
		return s.shortest
	}
	return s.shortest + time.Duration(random.Int64N(int64(s.longest-s.shortest)))
}

type program interface {
	// resume puts the task into its state at now.
	resume(t *task, now time.Duration) error
	// step runs the task for one step of the simulation. An error ends it.
	step(t *task, now time.Duration) error
}

func (r *role) hello(id process.Identity) probe.Hello {
	h := probe.Hello{Proto: probe.Version, PID: id.PID, StartTime: id.StartTime, StartedBy: cmp.Or(r.entered, "run")}
	if r.nsPID != 0 {
		h.PID = r.nsPID
	}
	switch r.runtime {
	case pytorch:
		h.Runtimes = []probe.Runtime{{Name: "PyTorch", Version: r.version}}
		h.Capabilities = []string{"flush", "snapshot", "holds"}
	case jax:
		h.Runtimes = []probe.Runtime{{Name: "JAX", Version: r.version}}
	}
	return h
}
