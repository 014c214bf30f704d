package story

import (
	"math/rand/v2"
	"time"

	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
)

// Story is a kind of situation.
type Story struct {
	Name   string
	Kind   Kind
	Passes bool // jobs come and go, so the story has no steady state
	draw   func(d draw) []world.Spec
}

// Kind says whether a guard can help in a story.
type Kind string

// The kinds.
const (
	Winnable   Kind = "winnable"
	Unwinnable Kind = "unwinnable"
	Harmless   Kind = "harmless" // nothing fails without a guard, so a guard cannot help
)

// Cast is a story with its parameters.
type Cast struct {
	Total quantity.Bytes
	Jobs  []world.Spec
}

// All returns the stories.
func All() []Story {
	return []Story{
		{Name: "training with evaluation peaks", Kind: Winnable, draw: evaluationPeaks},
		{Name: "two trainings whose peaks meet", Kind: Winnable, draw: meetingPeaks},
		{Name: "idle notebooks beside a training", Kind: Winnable, draw: idleNotebooks},
		{Name: "server whose cache grows", Kind: Winnable, draw: growingServer},
		{Name: "batch tests that come and go", Kind: Winnable, Passes: true, draw: batchTests},
		{Name: "fragmented job beside a steady one", Kind: Winnable, draw: fragmentedJob},
		{Name: "sweep of short jobs", Kind: Winnable, Passes: true, draw: sweep},
		{Name: "job that starts large beside idle cache", Kind: Winnable, draw: largeStart},
		{Name: "leak of live tensors", Kind: Unwinnable, draw: leak},
		{Name: "JAX with preallocation", Kind: Unwinnable, draw: preallocation},
		{Name: "all memory allocated", Kind: Unwinnable, draw: allAllocated},
		{Name: "job larger than the GPU", Kind: Unwinnable, draw: tooLarge},
		{Name: "full, and well", Kind: Harmless, draw: fullAndWell},
	}
}

// Draw draws a story's parameters. The same seed draws the same parameters.
func (s Story) Draw(seed uint64) Cast {
	sizes := [...]quantity.Bytes{24, 40, 48, 80, 141} // GiB, of cards that are sold
	random := rand.New(rand.NewPCG(seed, 0))
	d := draw{Rand: random, total: sizes[random.IntN(len(sizes))] * quantity.GiB}
	d.context = quantity.Bytes(d.between(.25, .55) * float64(quantity.GiB))
	jobs := s.draw(d)
	for i := range jobs {
		jobs[i].Context = d.context
		if jobs[i].Restart == 0 {
			jobs[i].Restart = d.duration(20*time.Second, 3*time.Minute)
		}
	}
	return Cast{Total: d.total, Jobs: jobs}
}

// World returns the GPU with its jobs.
func (c Cast) World(seed uint64, cost world.Cost) *world.World {
	return world.New(seed, c.Total, cost, c.Jobs)
}
