package story

import (
	"math"
	"time"

	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
)

// training is a job that trains: it loads its weights, makes steps of a forward and
// a backward pass, evaluates now and then with more memory, and saves its work.
type training struct {
	weights     quantity.Bytes // parameters, gradients and optimizer state
	load        float64        // bytes a second
	spike       quantity.Bytes // a copy that is freed once the weights are there
	step        time.Duration
	activations quantity.Bytes // the activations of the longest step
	vary        float64        // how much smaller the batches of a step may be, as a share
	strands     quantity.Bytes // kept between activations in some steps, which fragments segments

	eval      quantity.Bytes // the memory of the largest evaluation
	evalVary  float64        // how much smaller an evaluation may be, as a share
	evalFirst time.Duration  // the work before the first evaluation
	evalEvery time.Duration
	evalFor   time.Duration

	leak   quantity.Bytes // bytes of each step that are never freed
	save   time.Duration  // work between two checkpoints
	length time.Duration  // work in one life; 0: it does not end
}

// The parts of a model in this lab: few, so that hours of it are quick.
const (
	tensors = 16
	layers  = 6
	batches = 8 // in an evaluation
)

// run runs one life of the job. After a failure it continues from its last checkpoint.
func (t training) run(j *world.Job) error {
	var kept held
	if err := t.begin(j, &kept); err != nil {
		return err
	}
	began, saved, worked := j.Done(), j.Done(), time.Duration(0)
	for steps := 0; t.length == 0 || worked < t.length; steps++ {
		if t.due(began+worked, t.step) {
			if err := t.evaluate(j); err != nil {
				return err
			}
		}
		if err := t.once(j, steps, &kept); err != nil {
			return err
		}
		j.Work(t.step)
		if worked += t.step; t.length == 0 && j.Done()-saved >= t.save {
			saved = j.Done()
			j.Save()
		}
	}
	return nil
}

// begin loads the weights.
func (t training) begin(j *world.Job, kept *held) error {
	if t.spike > 0 {
		var copies held
		defer func() { copies.free(j) }()
		for range tensors {
			if err := copies.take(j, t.spike/tensors); err != nil {
				return err
			}
		}
	}
	size := t.weights / tensors
	for range tensors {
		if err := kept.take(j, size); err != nil {
			return err
		}
		if err := j.Compute(seconds(float64(size) / t.load)); err != nil {
			return err
		}
	}
	return nil
}

// due reports whether an evaluation has come due within the last step.
func (t training) due(work, step time.Duration) bool {
	if t.eval == 0 || work < t.evalFirst {
		return false
	}
	since := (work - t.evalFirst) % t.evalEvery
	return since < step
}

// once runs a step.
func (t training) once(j *world.Job, number int, kept *held) error {
	share := 1 - t.vary*j.Random.Float64()
	var live held
	for _, size := range ladder(t.activations) {
		if err := live.take(j, quantity.Bytes(share*float64(size))); err != nil {
			return err
		}
		if err := j.Compute(t.step / (2 * layers)); err != nil {
			return err
		}
	}
	const strandsEvery = 40
	if t.strands > 0 && number%strandsEvery == 0 && number < 16*strandsEvery {
		live.freeOne(j)
		if err := kept.take(j, t.strands); err != nil {
			return err
		}
	}
	if t.leak > 0 {
		if err := kept.take(j, t.leak); err != nil {
			return err
		}
	}
	for len(live) > 0 {
		live.freeOne(j)
		if err := j.Compute(t.step / (2 * layers)); err != nil {
			return err
		}
	}
	return nil
}

// evaluate takes the memory of one larger batch after the other.
func (t training) evaluate(j *world.Job) error {
	size := quantity.Bytes((1 - t.evalVary*j.Random.Float64()) * float64(t.eval))
	for range batches {
		var live held
		if err := live.take(j, parts(size)...); err != nil {
			return err
		}
		if err := j.Compute(t.evalFor / batches); err != nil {
			return err
		}
		live.free(j)
	}
	return nil
}

// ladder divides a total among the layers' activations: each layer takes 1.5 times as much as the
// previous one.
func ladder(total quantity.Bytes) []quantity.Bytes {
	const ratio = 1.5
	first := float64(total) * (ratio - 1) / (math.Pow(ratio, layers) - 1)
	sizes := make([]quantity.Bytes, layers)
	for i := range sizes {
		sizes[i] = quantity.Bytes(first * math.Pow(ratio, float64(i)))
	}
	return sizes
}

// parts divides a total among four tensors.
func parts(total quantity.Bytes) []quantity.Bytes {
	return []quantity.Bytes{total * 4 / 10, total * 3 / 10, total * 2 / 10, total / 10}
}

// held is blocks that a program holds.
type held []world.Block

func (h *held) take(j *world.Job, sizes ...quantity.Bytes) error {
	for _, size := range sizes {
		b, err := j.Allocate(size)
		if err != nil {
			return err
		}
		*h = append(*h, b)
	}
	return nil
}

// freeOne frees the newest block.
func (h *held) freeOne(j *world.Job) {
	last := len(*h) - 1
	j.Free((*h)[last])
	*h = (*h)[:last]
}

func (h *held) free(j *world.Job) {
	for len(*h) > 0 {
		h.freeOne(j)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
