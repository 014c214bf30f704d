package sampler

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// The other memory of a process is the driver's reading less the probe's. The two are read at
// different moments (skew). If much memory comes or goes in between, in a flush or while a model is
// loaded, the difference includes that memory. So the difference counts only
//
//   - if each side was read after the last large change of the other: then both readings were
//     true at one moment, or
//   - if it hardly differs from the last difference that met the first condition.
//
// Otherwise the other memory is unknown. The first reading counts as a large change.

// skewTolerance is the largest change that still counts as small. Other memory (a context, kernels,
// a workspace) is some hundreds of MiB.
const skewTolerance = 128 * quantity.MiB

// span is the time in which a reading was taken.
type span struct{ from, to time.Time }

// otherMemory remembers a row's readings.
type otherMemory struct {
	last       snapshot.Bytes // the last difference whose readings were true at one moment
	used, held snapshot.Bytes // the first readings after the last large change
	usedMoved  time.Time      // when the reading of used ended
	heldMoved  time.Time
}

// take takes a reading of the driver and one of the probe, each with the time in which it was
// made. It returns used − held, or unknown while the readings are skewed.
func (r *otherMemory) take(used, held quantity.Bytes, usedAt, heldAt span) snapshot.Bytes {
	if moved(r.used, used) {
		r.used, r.usedMoved = quantity.From(used, quantity.Driver), usedAt.to
	}
	if moved(r.held, held) {
		r.held, r.heldMoved = quantity.From(held, quantity.Probe), heldAt.to
	}
	other := quantity.From(used-held, quantity.Computed)
	if !heldAt.from.Before(r.usedMoved) && !usedAt.from.Before(r.heldMoved) {
		r.last = other
	} else if moved(r.last, used-held) {
		return snapshot.Bytes{}
	}
	return other
}

// moved reports whether a reading shows a large change, or is the first one.
func moved(before snapshot.Bytes, now quantity.Bytes) bool {
	was, known := before.Value()
	return !known || max(was-now, now-was) > skewTolerance
}

// otherOf returns a process's used memory less held, the memory of its allocators at heldAt.
func (s *Sampler) otherOf(p *snapshot.Process, held quantity.Bytes, heldAt span) snapshot.Bytes {
	used, known := p.Used.Value()
	g, r := s.driver.find(p.ID.GPUUUID), s.reports[p.ID]
	if !known || g == nil || g.fresh == nil {
		return snapshot.Bytes{}
	}
	usedAt := span{g.fresh.ProcessesFrom, g.fresh.ProcessesTo}
	if usedAt.from.IsZero() {
		usedAt = span{g.fresh.Time, g.fresh.Time}
	}
	return r.other.take(used, held, usedAt, heldAt)
}

// allocator returns a probe's stats as they are shown. A peak above the device's size is unknown,
// because some libraries also count memory that was asleep. Returnable memory of about 0 is unknown, too.
func allocator(out snapshot.Allocator, size quantity.Bytes) snapshot.Allocator {
	for _, peak := range []*snapshot.Bytes{&out.PeakAllocated, &out.PeakReserved} {
		if size > 0 && peak.Or(0) > size {
			*peak = snapshot.Bytes{}
		}
	}
	if out.Bound() == snapshot.About && out.Returnable.Or(0) == 0 && out.Allocated.Or(0) > 0 {
		out.Returnable = snapshot.Bytes{}
	}
	return out
}
