package story

import (
	"math/rand/v2"
	"time"

	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
)

// draw draws parameters. Sizes are shares of the GPU's memory.
type draw struct {
	*rand.Rand
	total, context quantity.Bytes
}

// fits returns the share of the GPU's memory that a number of jobs can allocate. The rest is for
// their contexts, the driver's part, rounding and fragments.
func (d draw) fits(jobs int) float64 {
	const rest = .08
	return 1 - rest - float64(jobs)*float64(d.context)/float64(d.total)
}

// between draws from a uniform distribution.
func (d draw) between(low, high float64) float64 { return low + (high-low)*d.Float64() }

func (d draw) duration(low, high time.Duration) time.Duration {
	return low + time.Duration(d.Float64()*float64(high-low))
}

// share returns a share of the GPU's memory.
func (d draw) share(s float64) quantity.Bytes { return quantity.Bytes(s * float64(d.total)) }

// until calls ok, which draws parameters, until ok returns true.
func until(ok func() bool) {
	for range 1_000_000 {
		if ok() {
			return
		}
	}
	panic("story: no parameters are as they must be")
}

// drawn is the range of a duration that is drawn anew each time.
type drawn struct{ low, high time.Duration }

func (d drawn) draw(j *world.Job) time.Duration {
	return d.low + time.Duration(j.Random.Float64()*float64(d.high-d.low))
}
