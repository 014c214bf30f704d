package alert

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// errorCount is a GPU's count of uncorrectable ECC errors since the driver was
// loaded. The errors in the first snapshot are old ones.
type errorCount struct {
	known bool
	first uint64 // in the first snapshot, or after the driver was reloaded
	value uint64
	since time.Time // of the first snapshot
	risen time.Time // of the last rise
}

func (c *errorCount) add(now time.Time, count quantity.Optional[uint64]) {
	v, ok := count.Value()
	switch {
	case !ok:
		return // the last count stays
	case !c.known || v < c.value:
		*c = errorCount{known: true, first: v, since: now}
	case v > c.value:
		c.risen = now
	}
	c.value = v
}

// newErrorsFor is how long a new uncorrectable error is urgent. Then it is a
// notice until the next reset, as the count stays.
const newErrorsFor = time.Hour

func (e *Evaluator) ecc(found []candidate, snap *snapshot.Snapshot, g *snapshot.GPU) []candidate {
	c := &e.gpus[g.UUID].errors
	if !c.known || c.value == 0 {
		return found
	}
	a := snapshot.Alert{
		Kind: snapshot.AlertECC, Severity: snapshot.Notice, GPU: g.Index, GPUUUID: g.UUID, Since: c.since,
		Note:    note("ECC " + decimal(c.value) + " uncorrectable"),
		Message: "GPU " + number(g.Index) + " has " + counted(c.value, "uncorrectable ECC error") + " from before this start",
		Advice:  "reset the GPU when its jobs are done",
	}
	if fresh := c.value - c.first; fresh > 0 {
		a.Since = c.risen
		a.Message = "GPU " + number(g.Index) + " has " + counted(fresh, "new uncorrectable ECC error")
		if c.first > 0 {
			a.Message += ", " + decimal(c.value) + " since the driver was loaded"
		}
		if within(snap.Time, c.risen, newErrorsFor) {
			a.Severity = snapshot.Urgent
			a.Advice = "results may be wrong; end its jobs and reset it"
		}
	}
	return append(found, candidate{hysteresis: atOnce, alert: a})
}
