package main

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"vramscope/internal/guardlab/bed"
	"vramscope/internal/guardlab/story"
	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
)

// score holds the results of one run, or their sum over several.
type score struct {
	hours          float64
	important, all float64       // out-of-memory events
	work, others   time.Duration // of all jobs, and of those that are not important
	allocated      float64       // hours × share of the GPU's memory
	flushes        float64
	freed, back    quantity.Bytes
	busiest        float64 // the most actions a minute in any ten minutes of the second half of a run
	rescued, trips float64
}

func scoreOf(r bed.Result) score {
	s := score{
		hours: r.Time.Hours(), work: r.Work, others: r.Work - r.Important, allocated: r.Allocated * r.Time.Hours(),
		flushes: float64(len(r.Flushes)), rescued: float64(r.Rescued), trips: float64(r.Tripped),
		all: float64(len(r.OutOfMemory)), busiest: busiest(r),
	}
	for _, f := range r.OutOfMemory {
		if f.Important {
			s.important++
		}
	}
	for _, f := range r.Flushes {
		s.freed += f.Freed
		s.back += f.Back
	}
	return s
}

// busiest returns the most actions a minute in any ten minutes of the second half, when every job
// has started.
func busiest(r bed.Result) float64 {
	const window = 10 * time.Minute
	most := 0
	for i, first := range r.Flushes {
		if first.At < r.Time/2 {
			continue
		}
		within := 0
		for _, f := range r.Flushes[i:] {
			if f.At-first.At < window {
				within++
			}
		}
		most = max(most, within)
	}
	return float64(most) / window.Minutes()
}

func (s score) plus(o score) score {
	return score{
		s.hours + o.hours, s.important + o.important, s.all + o.all, s.work + o.work, s.others + o.others,
		s.allocated + o.allocated, s.flushes + o.flushes, s.freed + o.freed, s.back + o.back,
		max(s.busiest, o.busiest), s.rescued + o.rescued, s.trips + o.trips,
	}
}

func sum(all []score) (total score) {
	for _, s := range all {
		total = total.plus(s)
	}
	return total
}

// measured are the scores of every run: by story, policy and seed.
type measured struct {
	stories  []story.Story
	policies []bed.Policy
	seeds    seeds
	length   time.Duration
	scores   [][][]score
}

// measure plays every story under every policy with every seed, on all cores.
func measure(stories []story.Story, policies []bed.Policy, of seeds, cost world.Cost, length time.Duration) *measured {
	m := &measured{stories: stories, policies: policies, seeds: of, length: length}
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range stories {
		m.scores = append(m.scores, make([][]score, len(policies)))
		for j := range policies {
			m.scores[i][j] = make([]score, of.count)
			for k := range of.count {
				slots <- struct{}{}
				wait.Go(func() {
					m.scores[i][j][k] = scoreOf(bed.Play(stories[i], of.first+k, policies[j], cost, length))
					<-slots
				})
			}
		}
	}
	wait.Wait()
	return m
}

// pooled returns the sum over the stories of a kind under a policy.
func (m *measured) pooled(kind story.Kind, policy int) (total score) {
	for i := range m.stories {
		if m.stories[i].Kind == kind {
			total = total.plus(sum(m.scores[i][policy]))
		}
	}
	return total
}

// fewer returns how many fewer out-of-memory events of important jobs a policy has than no guard,
// as a share, in the winnable stories. low and high bound its 95 % interval, from 1,000 draws of the
// seeds of each story.
func (m *measured) fewer(policy int) (share, low, high float64) {
	const draws = 1000
	random := rand.New(rand.NewPCG(m.seeds.first, m.seeds.count))
	once := func(pick func(seed int) int) float64 {
		var none, some float64
		for i := range m.stories {
			if m.stories[i].Kind != story.Winnable {
				continue
			}
			for seed := range int(m.seeds.count) {
				k := pick(seed)
				none += m.scores[i][0][k].important
				some += m.scores[i][policy][k].important
			}
		}
		return 1 - some/none
	}
	var drawn []float64
	for range draws {
		drawn = append(drawn, once(func(int) int { return random.IntN(int(m.seeds.count)) }))
	}
	slices.Sort(drawn)
	return once(func(seed int) int { return seed }), drawn[draws/40], drawn[draws-draws/40-1]
}
