package story

import (
	"time"

	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
)

// server answers one request after the other. A request's cache of keys and values grows by
// concatenation: a larger block replaces it each time. Blocks of all sizes stay in the allocator's
// cache, so the process's reserved memory grows with the longest request so far. The server
// survives a request that fails.
type server struct {
	weights quantity.Bytes
	longest quantity.Bytes // what the longest request holds at its end
	grows   int            // how often the cache of the longest request grows
	request time.Duration  // how long the longest request takes
	pause   drawn          // between two requests
	growth  time.Duration  // until requests of all lengths come
}

func (s server) run(j *world.Job) error {
	var weights held
	if err := (training{weights: s.weights, load: 2e9}).begin(j, &weights); err != nil {
		return err
	}
	began := time.Duration(0)
	for {
		most := min(1, .3+.7*float64(began)/float64(s.growth))
		share := most * j.Random.Float64()
		length, err := s.answer(j, share)
		if err := survives(err); err != nil {
			return err
		}
		pause := s.pause.draw(j)
		if err := j.Idle(pause); err != nil {
			return err
		}
		began += length + pause
	}
}

func (s server) answer(j *world.Job, share float64) (time.Duration, error) {
	var now held
	defer func() { now.free(j) }()
	times := 1 + int(share*float64(s.grows))
	for n := range times {
		var next held
		if err := next.take(j, s.longest*quantity.Bytes(n+1)/quantity.Bytes(s.grows)); err != nil {
			return 0, err
		}
		now.free(j)
		now = next
		if err := j.Compute(s.request / time.Duration(s.grows)); err != nil {
			return 0, err
		}
	}
	length := s.request * time.Duration(times) / time.Duration(s.grows)
	j.Work(length)
	j.Save()
	return length, nil
}

// inference is a server that takes all of its memory at the start, as vLLM does, and no more later.
type inference struct{ size quantity.Bytes }

func (s inference) run(j *world.Job) error {
	var live held
	if err := (training{weights: s.size, load: 4e9}).begin(j, &live); err != nil {
		return err
	}
	for {
		const answers = 10 * time.Second
		if err := j.Compute(answers); err != nil {
			return err
		}
		j.Work(answers)
		j.Save()
	}
}
