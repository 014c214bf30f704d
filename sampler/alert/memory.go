package alert

import (
	"time"

	"vramscope/sampler/snapshot"
)

// outOfMemory alerts for outOfMemoryFor after an out-of-memory error, even if the process has exited.
func (e *Evaluator) outOfMemory(found []candidate, snap *snapshot.Snapshot) []candidate {
	for id, t := range e.rows {
		if !within(snap.Time, t.outOfMemory.risen, outOfMemoryFor) {
			continue
		}
		times := " x" + decimal(uint64(max(t.outOfMemory.rises, 0)))
		message := "GPU " + number(t.row.GPU) + " out of memory" + times + ", " + who(t.row)
		if t.ended {
			message += ", which has exited"
		}
		found = append(found, candidate{
			hysteresis: atOnce,
			alert: snapshot.Alert{
				Kind: snapshot.AlertOutOfMemory, Severity: snapshot.Urgent,
				GPU: t.row.GPU, GPUUUID: id.GPUUUID, Instance: id.Instance, Row: id, Since: t.outOfMemory.risen,
				Note: note("out of memory" + times), Message: message,
				Advice: e.remedy(snapshot.Place{GPUUUID: id.GPUUUID, Instance: id.Instance}),
			},
		})
	}
	return found
}

const (
	growthRemembered = time.Minute     // how long growth counts after it was seen
	strainRemembered = 2 * time.Minute // how long retries and out-of-memory errors count
	lowReleased      = 1.2             // a standing alert is cleared at this multiple of the threshold
)

// lowMemory alerts if little memory is free and a process needs more. Little free memory alone is
// normal: servers preallocate.
func (e *Evaluator) lowMemory(found []candidate, snap *snapshot.Snapshot, g *snapshot.GPU) []candidate {
	if !g.MIG || len(g.Instances) == 0 {
		return e.lowPlace(found, snap.Time, g, snapshot.Place{GPUUUID: g.UUID}, &g.Memory, number(g.Index))
	}
	for i := range g.Instances {
		in := &g.Instances[i]
		where := snapshot.Place{GPUUUID: g.UUID, Instance: in.ID}
		found = e.lowPlace(found, snap.Time, g, where, &in.Memory, number(g.Index)+":"+number(i+1))
	}
	return found
}

func (e *Evaluator) lowPlace(found []candidate, now time.Time, g *snapshot.GPU, where snapshot.Place, m *snapshot.Memory, label string) []candidate {
	capacity, limited := m.Capacity().Value()
	free, known := snapshot.FreeOf(m).Value()
	if !limited || !known || capacity <= 0 {
		return found
	}
	k := keyOf(snapshot.AlertLowMemory, where)
	limit := e.low * float64(capacity)
	if l := e.latches[k]; l != nil && l.standing {
		limit *= lowReleased
	}
	if float64(free) >= limit {
		return found
	}
	s := e.strain(now, where, e.named(k))
	if s.words == "" {
		return found
	}
	a := snapshot.Alert{
		Kind: snapshot.AlertLowMemory, Severity: s.severity,
		GPU: g.Index, GPUUUID: g.UUID, Instance: where.Instance, Row: s.row,
		Note:    note(free.String() + " free, " + s.words),
		Message: "GPU " + label + " has " + free.String() + " free of " + m.Total.Or(capacity).String() + ", " + s.sentence,
		Advice:  e.remedy(where),
	}
	return append(found, candidate{hysteresis: hysteresis{samples: 3, misses: 5}, alert: a})
}

// strain is the reason why little free memory is dangerous.
type strain struct {
	severity snapshot.Severity
	words    string // for the note
	sentence string
	row      snapshot.RowID
}

// strain finds the worst reason: an allocator failed, an allocator had to retry, or memory grows.
func (e *Evaluator) strain(now time.Time, where snapshot.Place, named snapshot.RowID) strain {
	var failed, retried, grown *snapshot.Process
	anyKnown := false
	for p := range e.snap.PlaceRows(where) {
		t := e.rows[p.ID]
		if p.Used.Known() {
			anyKnown = true
		}
		if within(now, t.outOfMemory.risen, strainRemembered) {
			failed = larger(failed, p, named)
		}
		if within(now, t.retries.risen, strainRemembered) {
			retried = larger(retried, p, named)
		}
		if within(now, t.grew, growthRemembered) {
			grown = larger(grown, p, named)
		}
	}
	switch {
	case failed != nil:
		return strain{snapshot.Urgent, "OOM", who(failed) + " ran out of memory", failed.ID}
	case retried != nil:
		return strain{snapshot.Urgent, "retries", who(retried) + " has to retry", retried.ID}
	case grown != nil:
		return strain{snapshot.Notice, "growing", who(grown) + " grows", grown.ID}
	}
	gpu := e.gpus[where.GPUUUID]
	if !anyKnown && !where.Instance.MIG && within(now, gpu.grew, growthRemembered) {
		return strain{snapshot.Notice, "growing", "and it grows", snapshot.RowID{}}
	}
	return strain{}
}

// larger returns the row to name: the row that the alert named before, or else the larger row.
func larger(best, p *snapshot.Process, named snapshot.RowID) *snapshot.Process {
	switch {
	case best == nil || p.ID == named:
		return p
	case best.ID == named || p.Used.Or(-1) <= best.Used.Or(-1):
		return best
	default:
		return p
	}
}
