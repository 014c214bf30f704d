package sampler

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

// What a process uses besides its allocators is the difference of two readings,
// the driver's and the probe's, which are never of the same moment. While
// memory stands still that does not matter. Where a lot of it comes or goes
// between the two, in a flush or while a model is loaded, the difference is all
// of that, and nothing of what it should be: it is believed only
//
//   - where it is what it was: then nothing has come between them, or
//   - where each of the two has been read after the last large change that the
//     other one shows.
//
// Until then it is unknown.

// unmoved is how much may come or go between two readings without a word. What
// is "other" is some hundreds of MiB: a context, kernels, a workspace.
const unmoved = 128 * quantity.MiB

// settling is what is remembered of a row's readings.
type settling struct {
	other      snapshot.Bytes // as it was last believed
	used, held snapshot.Bytes // newest readings
	usedMoved  time.Time      // the reading that showed the last large change
	heldMoved  time.Time
}

// settled is used − held, or unknown where the two readings do not belong
// together. The driver's was taken at usedAt, the probe's at heldAt.
func (r *settling) settled(used, held quantity.Bytes, usedAt, heldAt time.Time) snapshot.Bytes {
	if moved(r.used, used) {
		r.usedMoved = usedAt
	}
	if moved(r.held, held) {
		r.heldMoved = heldAt
	}
	r.used, r.held = quantity.From(used, quantity.Driver), quantity.From(held, quantity.Probe)
	other := quantity.From(used-held, quantity.Computed)
	asBefore := r.other.Known() && !moved(r.other, used-held)
	if !asBefore && (heldAt.Before(r.usedMoved) || usedAt.Before(r.heldMoved)) {
		return snapshot.Bytes{}
	}
	r.other = other
	return other
}

// moved reports a large change since a reading that there was.
func moved(before snapshot.Bytes, now quantity.Bytes) bool {
	was, known := before.Value()
	return known && max(was-now, now-was) > unmoved
}

// otherOf is what a process uses besides what its allocators hold, which its
// probe has told at heldAt.
func (s *Sampler) otherOf(p *snapshot.Process, held quantity.Bytes, heldAt time.Time) snapshot.Bytes {
	used, told := p.Used.Value()
	if !told {
		return snapshot.Bytes{}
	}
	r, reading := s.rows[p.ID], s.readingOf(p.ID.GPUUUID)
	if r == nil || reading == nil {
		return quantity.From(used-held, quantity.Computed) // a first look: there is nothing to compare with
	}
	if latest := r.latest; latest != nil && latest.Used.Known() {
		r.settling.used = latest.Used // known also from before the process had a probe
	}
	return r.settling.settled(used, held, reading.Time, heldAt)
}

// readingOf is this tick's reading of a GPU, nil where there is none.
func (s *Sampler) readingOf(uuid string) *nvml.Reading {
	if g := s.driver.seen(uuid); g != nil {
		return g.fresh
	}
	return nil
}
