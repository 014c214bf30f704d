package story

import (
	"errors"
	"time"

	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
	"vramscope/sampler/simulator/allocator"
)

// notebook is a person who runs a cell now and then. The memory that a cell needed stays in the
// cache while the person pauses. The process survives a cell that fails.
type notebook struct {
	live    quantity.Bytes
	scratch quantity.Bytes // the most that a cell needs
	cell    drawn          // how long a cell runs
	pause   drawn          // how long the person pauses between two cells
}

func (n notebook) run(j *world.Job) error {
	var live held
	if err := live.take(j, parts(n.live)...); err != nil {
		return err
	}
	for first := true; ; first = false {
		// The first cell needs all of scratch, and so does one in three of the later cells.
		share := 1.0
		if !first && j.Random.IntN(3) > 0 {
			share = .2 + .8*j.Random.Float64()
		}
		if err := survives(n.calculate(j, quantity.Bytes(share*float64(n.scratch)))); err != nil {
			return err
		}
		if err := j.Idle(n.pause.draw(j)); err != nil {
			return err
		}
	}
}

// calculate runs a cell. If the cell fails, calculate frees the memory that it has taken.
func (n notebook) calculate(j *world.Job, scratch quantity.Bytes) error {
	var taken held
	defer func() { taken.free(j) }()
	if err := taken.take(j, parts(scratch)...); err != nil {
		return err
	}
	length := n.cell.draw(j)
	if err := j.Compute(length); err != nil {
		return err
	}
	j.Work(length)
	j.Save()
	return nil
}

// survives lets a program continue after an out-of-memory event.
func survives(err error) error {
	if errors.Is(err, allocator.ErrOutOfMemory) {
		return nil
	}
	return err
}

// test is a batch test: it uses much memory for a moment, then little, and ends.
type test struct {
	fixture quantity.Bytes // freed once the test is set up
	live    quantity.Bytes
	setUp   time.Duration
	length  drawn
}

func (t test) run(j *world.Job) error {
	var fixture, live held
	if err := fixture.take(j, parts(quantity.Bytes((.7+.3*j.Random.Float64())*float64(t.fixture)))...); err != nil {
		return err
	}
	if err := j.Compute(t.setUp); err != nil {
		return err
	}
	fixture.free(j)
	length := t.length.draw(j)
	for passed := time.Duration(0); passed < length; passed += time.Second {
		if err := live.take(j, parts(t.live)...); err != nil {
			return err
		}
		if err := j.Compute(time.Second); err != nil {
			return err
		}
		live.free(j)
	}
	j.Work(t.setUp + length)
	return nil
}
