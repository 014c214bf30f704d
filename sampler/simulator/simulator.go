// Package simulator is one simulated GPU box that answers as all of the
// sampler's sources: the driver, the probes and /proc. It is what --demo shows,
// and what tests run hours on in seconds.
//
//	clock ─→ Box ── steps of 250 ms ──→ seats ── tasks ── programs ── allocators ── frames of the boards
//	              └─ Open, Read (driver) · Answers (probes) · Processes, Host (/proc)
//
// The story is on eight H100s: a data-parallel pair with an epoch sawtooth
// (GPU 0 and 1), an LLM server that has preallocated its cache (2), a leak that
// fills its GPU in minutes, runs out of memory and starts again (3), a badly
// fragmented job (4), MIG instances (5), a GPU that is lost and comes back (6),
// a JAX job with a foreign pid beside it (7), and between them processes
// without a probe and some that come and go.
//
// Nothing is drawn by hand but who starts what: every figure comes out of the
// simulated allocators, so that reserved = allocated + cached + fragmented and
// a flush returns what it would return.
//
// The story may have a prelude, in which the box lives as it must have lived
// to be found as the story finds it: the leak leaks, notebooks climb, tests come
// and go, the server has nothing to do. Whoever samples through it begins with
// a past. Time is told from the beginning of the story, in the prelude it is
// negative:
//
//	New ── −Prelude ─────────── 0 ── 9 s: a retry ── 12 s: GPU 3 90 % full ── 30–37 s: GPU 6 lost ─→
//
// The same seed and prelude give the same story. State moves in fixed steps up to the
// time of the clock whenever somebody asks, so it does not matter who asks how
// often.
package simulator

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"vramscope/internal/process"
)

const (
	step = 250 * time.Millisecond
	// The box was booted so long before the story begins.
	uptime = 41*24*time.Hour + 3*time.Hour
	tick   = 10 * time.Millisecond // of the kernel's clock, USER_HZ = 100
)

// The numbers of GPUs that a box can have.
const (
	DefaultGPUs = 8
	MaxGPUs     = 16
)

// Options choose a box. The zero value is the demo's.
type Options struct {
	Seed  uint64
	Clock func() time.Time // nil: time.Now. What it says in New is when the prelude begins
	GPUs  int              // 1 to MaxGPUs; 0: DefaultGPUs
	// Prelude is how long after New the story begins, up to MaxPrelude; the box
	// lives meanwhile.
	Prelude time.Duration
}

// Box is a simulated GPU box. All methods may be called from any goroutine.
type Box struct {
	clock func() time.Time
	seed  uint64
	epoch time.Time // when the story begins

	mu      sync.Mutex // guards all that follows
	opened  bool
	at      time.Duration // since the epoch, a whole number of steps; negative in the prelude
	boards  []*board
	seats   []*seat
	tasks   map[int]*task // by pid
	parents map[int]process.Info
	nextPID int
	nextJob int
}

// New builds a box and begins its story.
func New(options Options) (*Box, error) {
	if options.GPUs == 0 {
		options.GPUs = DefaultGPUs
	}
	if options.GPUs < 1 || options.GPUs > MaxGPUs {
		return nil, fmt.Errorf("simulator: %d GPUs: want 1 to %d", options.GPUs, MaxGPUs)
	}
	if options.Prelude < 0 || options.Prelude > MaxPrelude {
		return nil, fmt.Errorf("simulator: a prelude of %s: want 0 to %s", options.Prelude, MaxPrelude)
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	b := &Box{
		clock:   options.Clock,
		seed:    options.Seed,
		epoch:   options.Clock().Add(options.Prelude),
		at:      -options.Prelude / step * step,
		tasks:   map[int]*task{},
		parents: map[int]process.Info{},
		nextJob: 88139,
	}
	for index, scene := range cast(options.GPUs) {
		b.stage(index, scene)
	}
	b.nextPID = b.newestPID()
	for _, s := range b.seats {
		if s.task != nil {
			s.task.run(b.at)
			s.task.listen(b.at)
		}
	}
	for _, g := range b.boards {
		g.settle(b.seed)
	}
	return b, nil
}

// stage sets up a GPU with the roles of its scene.
func (b *Box) stage(index int, scene scene) {
	g := newBoard(index)
	b.boards = append(b.boards, g)
	g.errorEvery, g.corrected = scene.errorEvery, scene.corrected
	g.partition(scene.instances...)
	if scene.lost {
		g.loss = newLoss(rand.New(rand.NewPCG(b.seed, uint64(index)<<32)))
	}
	for i := range scene.roles {
		s := &seat{
			role:   scene.roles[i],
			board:  g,
			random: rand.New(rand.NewPCG(b.seed, uint64(index)<<16|uint64(i)<<8|1)),
		}
		if at := s.role.instance; at > 0 {
			s.instance = g.instances[at-1]
		}
		b.seats = append(b.seats, s)
		b.adopt(&s.role)
		b.prepare(s)
	}
}

// advance brings the box up to the clock and returns what the clock says. A
// clock that goes back stops the story until it has caught up.
func (b *Box) advance() time.Time {
	now := b.clock()
	for target := now.Sub(b.epoch); b.at+step <= target; {
		b.at += step
		b.move(b.at)
	}
	return now
}

// move is one step of everything.
func (b *Box) move(now time.Duration) {
	for _, g := range b.boards {
		b.turnLoss(g, now)
	}
	for _, s := range b.seats {
		if s.board.loss.gone {
			continue
		}
		b.visit(s, now)
		if s.task != nil {
			s.task.listen(now)
		}
	}
	for _, g := range b.boards {
		if !g.loss.gone {
			g.draw(b.seed, now)
		}
	}
}

// inOrder is the running tasks by pid.
func (b *Box) inOrder() []*task {
	tasks := make([]*task, 0, len(b.tasks))
	for _, t := range b.tasks {
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b *task) int { return cmp.Compare(a.identity.PID, b.identity.PID) })
	return tasks
}

func itoa(n int) string { return strconv.Itoa(n) }
