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
	parent  int // the pid that started it; 0: not known
	job     process.Job
	foreign bool // it runs in another container: its pid is not in this /proc
	nsPID   int  // its pid in its own container; 0: it is in none

	instance int // MIG instance that it runs on, from 1; 0: the whole GPU

	kind    nvml.ProcessType
	runtime runtime
	version string
	config  string         // of PyTorch's allocator
	entered string         // how its probe was started; empty: "run"
	context quantity.Bytes // CUDA context, kernels, libraries
	host    quantity.Bytes
	cpu     float64 // per cent of a core
	program func() program

	pid   int           // the pid of the process that runs when the story begins
	age   time.Duration // the age of that process; 0: none runs then
	first time.Duration // when the first process starts, if none runs then
	life  span          // how long a process lives; zero: until it fails
	pause span          // from an end to the next start; zero: no next start
}

// playing returns a function that returns a new copy of the program begins for each task of a role.
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
	// resume puts the task into the state that it has at its age.
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
