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
	opaque  runtime = iota // no probe: what it does inside, nobody knows
	pytorch                // caching allocator
	jax                    // one preallocated region
)

// role is somebody's program as the story needs it: who starts it, what it is,
// and when it comes and goes.
type role struct {
	user    user
	command []string
	exe     string
	comm    string
	parent  parent
	job     process.Job
	foreign bool // of another container: its pid means nothing in our /proc
	nsPID   int  // its pid in its own container; 0: not in one

	instance int // MIG instance that it runs on, from 1; 0: the whole GPU

	kind    nvml.ProcessType
	runtime runtime
	version string
	config  string         // of PyTorch's allocator
	entered string         // how its probe got in; empty: "run"
	context quantity.Bytes // CUDA context, kernels, libraries
	host    quantity.Bytes
	cpu     float64 // per cent of a core
	program func() program

	pid   int           // of the one that runs when the story begins
	age   time.Duration // of that one; 0: none runs then
	first time.Duration // when the first one starts, if none runs then
	life  span          // zero: until it fails
	pause span          // from an end to the next start; zero: it does not come back

	deaf bool // its probe misses a few reports now and then
}

// parent is the process that started a task.
type parent struct {
	pid     int
	comm    string
	command []string
	user    user
}

// user is somebody with an account on the box.
type user struct {
	name string
	uid  uint32
}

// span is a duration drawn from a range.
type span struct{ least, most time.Duration }

func (s span) draw(random *rand.Rand) time.Duration {
	if s.most <= s.least {
		return s.least
	}
	return s.least + time.Duration(random.Int64N(int64(s.most-s.least)))
}

// program is what a task does with its memory.
type program interface {
	// resume brings the task at once to where it would be after its age.
	resume(t *task, now time.Duration) error
	// step lets the task run for one step of the simulation. An error ends it.
	step(t *task, now time.Duration) error
}

// hello is what a probe in this role's process says of itself.
func (r *role) hello(id process.Identity) probe.Hello {
	h := probe.Hello{Proto: probe.Version, PID: id.PID, StartTime: id.StartTime, StartedBy: cmp.Or(r.entered, "run")}
	if r.nsPID != 0 {
		h.PID = r.nsPID
	}
	switch r.runtime {
	case pytorch:
		h.Runtimes = []probe.Runtime{{Name: "PyTorch", Version: r.version}}
		h.Capabilities = []string{"flush", "snapshot"}
	case jax:
		h.Runtimes = []probe.Runtime{{Name: "JAX", Version: r.version}}
	}
	return h
}
