package sampler

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// The memory that a process uses outside its allocators is the driver's reading
// less the probe's. The two are taken at different moments (skew). Where much
// memory comes or goes in between, in a flush or while a model is loaded, the
// difference shows that memory, and not the other memory. So it counts only
//
//   - where it has not changed since it last counted, or
//   - where each side was read after the last large change that the other shows:
//     then there was a moment at which both were as they are now.
//
// Until then the other memory is unknown. What was before the first reading is not
// known, so that one counts as a change.

// skewTolerance is the change that is not a large one. Other memory (a context,
// kernels, a workspace) is some hundreds of MiB.
const skewTolerance = 128 * quantity.MiB

// otherMemory remembers a row's readings.
type otherMemory struct {
	last       snapshot.Bytes // the last difference of which the readings showed that it counts
	used, held snapshot.Bytes // the first readings after the last large change
	usedMoved  time.Time      // the end of these
	heldMoved  time.Time
}

// take takes in a reading of the driver and one of the probe, each with the time
// in which it was taken. It returns used − held, or unknown where they are skewed.
func (r *otherMemory) take(used, held quantity.Bytes, usedAt, heldAt span) snapshot.Bytes {
	if moved(r.used, used) {
		r.used, r.usedMoved = quantity.From(used, quantity.Driver), usedAt.To
	}
	if moved(r.held, held) {
		r.held, r.heldMoved = quantity.From(held, quantity.Probe), heldAt.To
	}
	other := quantity.From(used-held, quantity.Computed)
	if !heldAt.From.Before(r.usedMoved) && !usedAt.From.Before(r.heldMoved) {
		r.last = other
	} else if moved(r.last, used-held) {
		return snapshot.Bytes{}
	}
	return other
}

// moved reports a large change, or that there was no reading before.
func moved(before snapshot.Bytes, now quantity.Bytes) bool {
	was, known := before.Value()
	return !known || max(was-now, now-was) > skewTolerance
}

// otherOf is what a process uses besides what its allocators held at heldAt.
func (s *Sampler) otherOf(p *snapshot.Process, held quantity.Bytes, heldAt span) snapshot.Bytes {
	used, known := p.Used.Value()
	g, r := s.driver.find(p.ID.GPUUUID), s.reports[p.ID]
	if !known || g == nil || g.fresh == nil {
		return snapshot.Bytes{}
	}
	usedAt := span{g.fresh.ProcessesFrom, g.fresh.ProcessesTo}
	if usedAt.From.IsZero() {
		usedAt = span{g.fresh.Time, g.fresh.Time}
	}
	return r.other.take(used, held, usedAt, heldAt)
}
