package simulator

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

const (
	step   = 250 * time.Millisecond
	uptime = 41*24*time.Hour + 3*time.Hour // of the box when the story begins
	tick   = 10 * time.Millisecond         // of the kernel's clock, USER_HZ = 100
)

// MaxGPUs is the number of GPUs of the largest box.
const MaxGPUs = 8

// Options choose a box. Only Clock is required.
type Options struct {
	Seed  uint64
	Clock func() time.Time // its time in New is the beginning of the prelude
	GPUs  int              // 1 to MaxGPUs; 0 means MaxGPUs
	// Prelude is how long after New the story begins, at most MaxPrelude.
	Prelude time.Duration
	// Shortage plays another story, on one GPU: a training that starts lacks the memory that an idle
	// notebook caches. Rescue, unless nil, gets each request of PyTorch that fails outside Retry, and the
	// program waits for Retry. Rescue must not wait, and may call the box only from another goroutine.
	Shortage bool
	Rescue   func(id process.Identity, gpu string, size quantity.Bytes)
}

// Box is a simulated GPU box. Its exported methods may be called from any goroutine.
type Box struct {
	clock  func() time.Time
	seed   uint64
	epoch  time.Time // when the story begins
	rescue func(id process.Identity, gpu string, size quantity.Bytes)

	mu      sync.Mutex    // guards the fields below
	at      time.Duration // since the epoch, a whole number of steps; negative in the prelude
	boards  []*board
	slots   []*slot
	tasks   map[int]*task // by pid
	nextPID int           // the highest pid so far
	nextJob int
}

// New builds a box and begins its story.
func New(options Options) *Box {
	b := &Box{
		clock:   options.Clock,
		seed:    options.Seed,
		rescue:  options.Rescue,
		epoch:   options.Clock().Add(options.Prelude),
		at:      -options.Prelude / step * step,
		tasks:   map[int]*task{},
		nextJob: 88139,
	}
	scenes := cast(cmp.Or(options.GPUs, MaxGPUs))
	if options.Shortage {
		scenes = []scene{shortageScene()}
	}
	for index, scene := range scenes {
		b.stage(index, scene)
	}
	for _, s := range b.slots {
		if s.task != nil {
			s.task.run(b.at)
			s.task.takeReport(b.at)
		}
	}
	for _, g := range b.boards {
		g.settle(b.seed)
	}
	return b
}

func (b *Box) stage(index int, scene scene) {
	g := newBoard(index)
	b.boards = append(b.boards, g)
	g.corrected = scene.corrected
	g.partition(scene.instances...)
	if scene.lost {
		g.loss = newLoss(rand.New(rand.NewPCG(b.seed, uint64(index)<<32)))
	}
	for i := range scene.roles {
		s := &slot{
			role:   scene.roles[i],
			board:  g,
			random: rand.New(rand.NewPCG(b.seed, uint64(index)<<16|uint64(i)<<8|1)),
		}
		s.frame = g.frame
		if at := s.role.instance; at > 0 {
			s.instance = g.instances[at-1]
			s.frame = s.instance.frame
		}
		b.slots = append(b.slots, s)
		b.prepare(s)
	}
}

// advance moves the box to the time of the clock, and returns that time. If the clock goes back,
// the story stops until the clock has caught up.
func (b *Box) advance() time.Time {
	now := b.clock()
	for target := now.Sub(b.epoch); b.at+step <= target; {
		b.at += step
		b.move(b.at)
	}
	return now
}

func (b *Box) move(now time.Duration) {
	for _, g := range b.boards {
		b.turnLoss(g, now)
	}
	for _, s := range b.slots {
		if s.board.loss.lost {
			continue
		}
		b.visit(s, now)
		if s.task != nil {
			s.task.takeReport(now)
		}
	}
	for _, g := range b.boards {
		if !g.loss.lost {
			g.draw(b.seed, now)
		}
	}
}

func (b *Box) inOrder() []*task {
	return slices.SortedFunc(maps.Values(b.tasks), byPID)
}
