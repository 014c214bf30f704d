package story

import (
	"fmt"
	"time"

	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
)

// The sums below are shares of the GPU's memory. The allocated memory is at most draw.fits. Where a
// story needs a failure without a guard, the reserved memory is at least fails.
const fails = 1.03

// trained returns a training. Its other parameters do not matter to the stories.
func (d draw) trained(weights, activations quantity.Bytes) training {
	return training{
		weights: weights, activations: activations, load: d.between(.5e9, 4e9), step: d.duration(300*time.Millisecond, 2*time.Second),
		vary: d.between(0, .2), save: d.duration(2*time.Minute, 10*time.Minute),
	}
}

// evaluates adds evaluations to a training. They are its peaks.
func (d draw) evaluates(t training, size quantity.Bytes) training {
	t.eval, t.evalVary = size, d.between(0, .4)
	t.evalFirst = d.duration(20*time.Second, 4*time.Minute)
	t.evalEvery = d.duration(3*time.Minute, 12*time.Minute)
	t.evalFor = d.duration(10*time.Second, time.Minute)
	return t
}

// seldom makes a training evaluate at its start and then rarely.
func (d draw) seldom(t training, size quantity.Bytes) training {
	t = d.evaluates(t, size)
	t.evalFirst = d.duration(10*time.Second, time.Minute)
	t.evalEvery = d.duration(12*time.Minute, 40*time.Minute)
	return t
}

func mainJob(name string, t training) world.Spec {
	return world.Spec{Name: name, Importance: 500, Important: true, Program: t.run}
}

// late mostly starts a job some minutes after the others.
func late(d draw, job world.Spec) world.Spec {
	if d.IntN(4) > 0 {
		job.Start = d.duration(4*time.Minute, 12*time.Minute)
	}
	return job
}

func other(name string, importance int, start time.Duration, program func(*world.Job) error) world.Spec {
	return world.Spec{Name: name, Importance: importance, Start: start, Program: program}
}

// evaluationPeaks is the story of a training beside one that evaluates rarely, and keeps that memory.
func evaluationPeaks(d draw) []world.Spec {
	var w, a, e, w2, a2, x float64
	until(func() bool {
		w, a, e = d.between(.1, .35), d.between(.03, .15), d.between(.15, .45)
		w2, a2, x = d.between(.05, .3), d.between(.02, .12), d.between(.1, .5)
		return w+max(a, e)+w2+a2 <= d.fits(2) && w+e+w2+x >= fails && w+a+w2+x <= d.fits(2) && x > a2
	})
	first := d.evaluates(d.trained(d.share(w), d.share(a)), d.share(e))
	second := d.seldom(d.trained(d.share(w2), d.share(a2)), d.share(x))
	return []world.Spec{late(d, mainJob("training", first)), other("second", -100, d.duration(0, time.Minute), second.run)}
}

// meetingPeaks is the story of two trainings that evaluate, and keep what their last step needed.
func meetingPeaks(d draw) []world.Spec {
	var w, a, e, w2, a2, e2 float64
	until(func() bool {
		w, a, e = d.between(.05, .3), d.between(.03, .2), d.between(.1, .4)
		w2, a2, e2 = d.between(.05, .3), d.between(.03, .2), d.between(.1, .4)
		return w+max(a, e)+w2+max(a2, e2) <= d.fits(2) && w+e+w2+a2+e2 >= fails
	})
	first := d.evaluates(d.trained(d.share(w), d.share(a)), d.share(e))
	second := d.evaluates(d.trained(d.share(w2), d.share(a2)), d.share(e2))
	return []world.Spec{late(d, mainJob("training", first)), other("second", 0, 0, second.run)}
}

func idleNotebooks(d draw) []world.Spec {
	var w, a, e, live, scratch float64
	n := 0
	until(func() bool {
		n = 2 + d.IntN(3)
		w, a, e = d.between(.15, .4), d.between(.05, .15), d.between(.1, .35)
		live, scratch = d.between(.01, .04), d.between(.05, .25)
		return w+max(a, e)+float64(n)*live+scratch <= d.fits(1+n) && w+max(a, e)+float64(n)*(live+scratch) >= fails
	})
	jobs := []world.Spec{late(d, mainJob("training", d.evaluates(d.trained(d.share(w), d.share(a)), d.share(e))))}
	for i := range n {
		book := notebook{
			live: d.share(live), scratch: d.share(scratch),
			cell: drawn{2 * time.Second, 40 * time.Second}, pause: drawn{30 * time.Second, d.duration(5*time.Minute, 25*time.Minute)},
		}
		jobs = append(jobs, other(fmt.Sprintf("notebook%d", i+1), -300, d.duration(0, 5*time.Minute), book.run))
	}
	return jobs
}

// growingServer makes a growing server and another job; either may be the important one.
func growingServer(d draw) []world.Spec {
	var w, a, e, weights, longest float64
	grows, serverFirst := 0, d.IntN(2) == 0
	most := .1
	if serverFirst && fails-d.fits(2) >= 1.5*most-.03 {
		most = .15 // large contexts on a small GPU leave no smaller parameters
	}
	until(func() bool {
		w, a, e = d.between(.1, .35), d.between(.03, .15), d.between(.05, .35)
		weights, longest, grows = d.between(.1, .3), d.between(.02, most), 6+d.IntN(10)
		if serverFirst {
			return w+a+weights+2*longest <= d.fits(2) && w+e+weights+1.5*longest >= fails && w+e+weights <= d.fits(2)
		}
		cache := longest * float64(grows+1) / 2
		return w+max(a, e)+weights+2*longest <= d.fits(2) && w+max(a, e)+weights+cache >= fails
	})
	train := d.trained(d.share(w), d.share(a))
	serve := server{
		weights: d.share(weights), longest: d.share(longest), grows: grows, request: d.duration(2*time.Second, 10*time.Second),
		pause: drawn{50 * time.Millisecond, d.duration(time.Second, 5*time.Second)}, growth: d.duration(3*time.Minute, 12*time.Minute),
	}
	serving := world.Spec{Name: "server", Program: serve.run}
	if serverFirst {
		serving.Important, serving.Importance = true, 500
		return []world.Spec{other("training", 0, d.duration(0, time.Minute), d.seldom(train, d.share(e)).run), serving}
	}
	job := mainJob("training", d.evaluates(train, d.share(e)))
	job.Start = d.duration(10*time.Minute, 25*time.Minute)
	return []world.Spec{job, serving}
}

func batchTests(d draw) []world.Spec {
	var w, a, e, live, fixture float64
	n := 0
	until(func() bool {
		n = 2 + d.IntN(3)
		w, a, e = d.between(.2, .45), d.between(.05, .15), d.between(.1, .35)
		live, fixture = d.between(.01, .05), d.between(.08, .35)
		return w+max(a, e)+float64(n)*live+fixture <= d.fits(1+n) && w+max(a, e)+float64(n)*fixture >= fails
	})
	jobs := []world.Spec{late(d, mainJob("training", d.evaluates(d.trained(d.share(w), d.share(a)), d.share(e))))}
	for i := range n {
		short := d.duration(20*time.Second, time.Minute)
		batch := test{
			fixture: d.share(fixture), live: d.share(live), setUp: d.duration(2*time.Second, 8*time.Second),
			length: drawn{short, d.duration(time.Minute, 5*time.Minute)},
		}
		spec := other(fmt.Sprintf("test%d", i+1), -500, d.duration(0, 3*time.Minute), batch.run)
		spec.Pause = d.duration(2*time.Second, 20*time.Second)
		jobs = append(jobs, spec)
	}
	return jobs
}

// fragmentedJob is the story of batches of all lengths. The second job's cache has a segment for
// each length, and tensors that stay lie between the segments.
func fragmentedJob(d draw) []world.Spec {
	var w, a, e, w2, a2, strands, x float64
	until(func() bool {
		w, a, e = d.between(.1, .35), d.between(.03, .12), d.between(.1, .4)
		w2, a2, strands, x = d.between(.05, .2), d.between(.05, .15), d.between(.0005, .002), d.between(.1, .35)
		holes := a2 * .5
		return w+max(a, e)+w2+a2+16*strands+holes <= d.fits(2) && w+e+w2+max(a2, x) >= fails
	})
	second := d.seldom(d.trained(d.share(w2), d.share(a2)), d.share(x))
	second.vary, second.strands = d.between(.4, .8), d.share(strands)
	return []world.Spec{
		late(d, mainJob("training", d.evaluates(d.trained(d.share(w), d.share(a)), d.share(e)))),
		other("fragmented", 0, d.duration(0, time.Minute), second.run),
	}
}

// sweep is the story of short jobs of many sizes, which load with a copy of their weights, and keep
// the memory of the copy in their cache.
func sweep(d draw) []world.Spec {
	var w, a, e, w2, a2, spike float64
	n := 0
	until(func() bool {
		n = 3 + d.IntN(3)
		w, a, e = d.between(.15, .4), d.between(.03, .15), d.between(.1, .35)
		w2, a2, spike = d.between(.01, .06), d.between(.01, .04), d.between(.05, .25)
		each := w2 + a2
		return w+max(a, e)+float64(n)*each+2*spike <= d.fits(1+n) && w+max(a, e)+float64(n)*(w2+spike) >= fails
	})
	jobs := []world.Spec{late(d, mainJob("training", d.evaluates(d.trained(d.share(w), d.share(a)), d.share(e))))}
	for i := range n {
		length := drawn{d.duration(time.Minute, 2*time.Minute), d.duration(3*time.Minute, 8*time.Minute)}
		common := d.trained(d.share(w2), d.share(a2))
		common.spike = d.share(spike)
		spec := other(fmt.Sprintf("trial%d", i+1), -200, d.duration(0, 2*time.Minute), func(j *world.Job) error {
			trial, share := common, .5+.5*j.Random.Float64()
			trial.weights = quantity.Bytes(share * float64(trial.weights))
			trial.activations = quantity.Bytes(share * float64(trial.activations))
			trial.length = length.draw(j)
			return trial.run(j)
		})
		spec.Pause = d.duration(2*time.Second, 30*time.Second)
		jobs = append(jobs, spec)
	}
	return jobs
}

// largeStart is the story of a job that takes its memory in seconds, beside notebooks that sleep.
func largeStart(d draw) []world.Spec {
	var w, a, live, scratch float64
	n := 0
	until(func() bool {
		n = 1 + d.IntN(3)
		w, a = d.between(.3, .6), d.between(.05, .2)
		live, scratch = d.between(.01, .06), d.between(.15, .7)
		return w+a+float64(n)*live <= d.fits(1+n) && w+a+float64(n)*live+scratch >= fails && float64(n)*live+scratch <= d.fits(1+n)
	})
	job := d.trained(d.share(w), d.share(a))
	job.length = d.duration(5*time.Minute, 15*time.Minute)
	large := mainJob("large", job)
	large.Start, large.Pause = d.duration(2*time.Minute, 8*time.Minute), d.duration(2*time.Minute, 8*time.Minute)
	jobs := []world.Spec{large}
	for i := range n {
		book := notebook{
			live: d.share(live), scratch: d.share(scratch),
			cell: drawn{5 * time.Second, 40 * time.Second}, pause: drawn{5 * time.Minute, 30 * time.Minute},
		}
		jobs = append(jobs, other(fmt.Sprintf("notebook%d", i+1), -300, d.duration(0, 90*time.Second), book.run))
	}
	return jobs
}
