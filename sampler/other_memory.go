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
//   - where each side was read after the last large change that the other shows.
//
// Until then the other memory is unknown.

// skewTolerance is the change that is not a large one. Other memory (a context,
// kernels, a workspace) is some hundreds of MiB.
const skewTolerance = 128 * quantity.MiB

// otherMemory remembers a row's readings.
type otherMemory struct {
	last       snapshot.Bytes // the last difference that counted
	used, held snapshot.Bytes // newest readings
	usedMoved  time.Time      // of the reading that showed the last large change
	heldMoved  time.Time
}

// take takes in a reading of the driver, taken at usedAt, and one of the probe,
// taken at heldAt. It returns used − held, or unknown where they are skewed.
func (r *otherMemory) take(used, held quantity.Bytes, usedAt, heldAt time.Time) snapshot.Bytes {
	if moved(r.used, used) {
		r.usedMoved = usedAt
	}
	if moved(r.held, held) {
		r.heldMoved = heldAt
	}
	r.used, r.held = quantity.From(used, quantity.Driver), quantity.From(held, quantity.Probe)
	other := quantity.From(used-held, quantity.Computed)
	unchanged := r.last.Known() && !moved(r.last, used-held)
	if !unchanged && (heldAt.Before(r.usedMoved) || usedAt.Before(r.heldMoved)) {
		return snapshot.Bytes{}
	}
	r.last = other
	return other
}

// moved reports a large change since the reading before, where there was one.
func moved(before snapshot.Bytes, now quantity.Bytes) bool {
	was, known := before.Value()
	return known && max(was-now, now-was) > skewTolerance
}

// otherOf is what a process uses besides what its allocators held at heldAt.
func (s *Sampler) otherOf(p *snapshot.Process, held quantity.Bytes, heldAt time.Time) snapshot.Bytes {
	used, known := p.Used.Value()
	if !known {
		return snapshot.Bytes{}
	}
	r, g := s.rows[p.ID], s.driver.find(p.ID.GPUUUID)
	if r == nil || g == nil || g.fresh == nil {
		return quantity.From(used-held, quantity.Computed) // the first sample of the row
	}
	if latest := r.latest; latest != nil && latest.Used.Known() {
		r.other.used = latest.Used // also from before the process had a probe
	}
	return r.other.take(used, held, g.fresh.Time, heldAt)
}
