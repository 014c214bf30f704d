package bed

import (
	"cmp"
	"slices"
	"time"

	"vramscope/internal/guardlab/story"
	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
)

// Oracle is asked at each allocation that would fail, contexts included, and acts without delay. No
// guard knows better when memory is needed.
type Oracle struct {
	Name string
	// Nowhere gives the important jobs memory beyond the GPU's. Then other jobs lose only because these
	// jobs survive and take what they need.
	Nowhere bool
	// Helps reports whether a job frees its cache for one that asks.
	Helps func(asker, giver *world.Job) bool
	// Ahead is how far the oracle looks into the future to choose which jobs free memory. With 0 the
	// jobs with the largest caches do.
	Ahead time.Duration
}

// Oracles returns the oracles of the table of floors.
func Oracles() []Oracle {
	important := func(asker, giver *world.Job) bool { return asker.Important && !giver.Important }
	less := func(asker, giver *world.Job) bool { return giver.Importance < asker.Importance }
	equal := func(asker, giver *world.Job) bool { return giver.Importance <= asker.Importance }
	const ahead = 10 * time.Minute
	return []Oracle{
		{Name: "memory from nowhere", Nowhere: true},
		{Name: "others give for the important job", Helps: important},
		{Name: "who loses least gives for the important job", Helps: important, Ahead: ahead},
		{Name: "less important jobs give", Helps: less},
		{Name: "equally important ones give, too", Helps: equal},
		{Name: "of these who loses least gives", Helps: equal, Ahead: ahead},
		{Name: "all give", Helps: func(*world.Job, *world.Job) bool { return true }},
	}
}

// Play plays a story with an oracle.
func (o Oracle) Play(s story.Story, seed uint64, cost world.Cost, length time.Duration) world.Result {
	g := &game{oracle: o, story: s, seed: seed, cost: cost}
	for o.Ahead > 0 && g.decide(length) {
	}
	w, _ := g.play(length)
	return w.Result()
}

// game is a story that is played again and again, each time with more choices made.
type game struct {
	oracle  Oracle
	story   story.Story
	seed    uint64
	cost    world.Cost
	choices [][]int // the slots of the jobs that free memory at each question, in their order
}

// question is an allocation that would fail.
type question struct {
	at      time.Duration
	missing quantity.Bytes
	givers  []giver // the largest cache first
}

type giver struct {
	slot  int
	spare quantity.Bytes
}

// play plays until a time, and returns the questions beyond g.choices.
func (g *game) play(until time.Duration) (w *world.World, open []question) {
	w = g.story.Draw(g.seed).World(g.seed, g.cost)
	w.Contexts = true
	asked := 0
	w.Grants = func(j *world.Job) bool { return g.oracle.Nowhere && j.Important }
	w.Rescue = func(asker *world.Job, size quantity.Bytes) time.Duration {
		if g.oracle.Helps == nil {
			return 0
		}
		q := question{at: w.Now(), missing: w.Used() + size - w.Capacity()}
		var all quantity.Bytes
		for slot, j := range w.Jobs {
			if spare := j.Spare(); j != asker && spare > 0 && g.oracle.Helps(asker, j) {
				q.givers = append(q.givers, giver{slot, spare})
				all += spare
			}
		}
		if all < q.missing {
			return 0
		}
		slices.SortStableFunc(q.givers, func(a, b giver) int { return cmp.Compare(b.spare, a.spare) })
		var gives []int
		if asked < len(g.choices) {
			gives = g.choices[asked]
		} else {
			open = append(open, q)
			gives = q.enough(nil)
		}
		asked++
		for _, slot := range gives {
			w.Jobs[slot].Flush()
		}
		return 0
	}
	w.Run(until, nil)
	return w, open
}

// enough returns the slots of the jobs to flush: those of first, then those with the largest caches,
// until they free enough.
func (q *question) enough(first []int) (gives []int) {
	var freed quantity.Bytes
	add := func(x giver) {
		if freed < q.missing && !slices.Contains(gives, x.slot) {
			gives = append(gives, x.slot)
			freed += x.spare
		}
	}
	for _, slot := range first {
		add(q.givers[slices.IndexFunc(q.givers, func(x giver) bool { return x.slot == slot })])
	}
	for _, x := range q.givers {
		add(x)
	}
	return gives
}

// decide answers the open questions up to the first that has several answers. For that question it
// takes the answer after which the other jobs have done the most work at the end of Ahead, less an
// hour for each failure of an important job. It returns false if no question has several answers.
func (g *game) decide(length time.Duration) bool {
	_, open := g.play(length)
	if len(open) == 0 {
		return false
	}
	for _, q := range open { // a question with a single answer takes no time
		var choices [][]int
		for _, x := range q.givers {
			if c := q.enough([]int{x.slot}); !slices.ContainsFunc(choices, func(o []int) bool { return slices.Equal(sorted(o), sorted(c)) }) {
				choices = append(choices, c)
			}
		}
		if len(choices) == 1 {
			g.choices = append(g.choices, choices[0])
			continue
		}
		best, most := choices[0], time.Duration(-1<<62)
		g.choices = append(g.choices, nil)
		for _, c := range choices {
			g.choices[len(g.choices)-1] = c
			w, _ := g.play(min(q.at+g.oracle.Ahead, length))
			r := w.Result()
			work := r.Work - r.Important
			for _, f := range r.OutOfMemory {
				if f.Important {
					work -= time.Hour
				}
			}
			if work > most {
				best, most = c, work
			}
		}
		g.choices[len(g.choices)-1] = best
		return true
	}
	return false
}

func sorted(slots []int) []int { return slices.Sorted(slices.Values(slots)) }
