package alert

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// errorCount is a GPU's count of uncorrectable ECC errors. The driver counts
// from its load on, so what is there at the first look is old.
type errorCount struct {
	Known bool
	First uint64 // at the first look, or after the driver was reloaded
	Value uint64
	Since time.Time // of the first look
	Risen time.Time // of the last rise
}

func (c *errorCount) add(now time.Time, count quantity.Optional[uint64]) {
	v, ok := count.Value()
	switch {
	case !ok:
		return // the last figure holds until there is a new one
	case !c.Known || v < c.Value:
		*c = errorCount{Known: true, First: v, Since: now}
	case v > c.Value:
		c.Risen = now
	}
	c.Value = v
}

// newErrorsFor is how long a fresh uncorrectable error asks to be acted upon.
// Afterwards it is only to be known: the count stays until the next reset.
const newErrorsFor = time.Hour

func (e *Evaluator) ecc(found []candidate, snap *snapshot.Snapshot, g *snapshot.GPU) []candidate {
	c := &e.gpus[g.UUID].errors
	if !c.Known || c.Value == 0 {
		return found
	}
	a := snapshot.Alert{
		Kind: snapshot.AlertECC, Severity: snapshot.Notice, GPU: g.Index, GPUUUID: g.UUID, Since: c.Since,
		Note:    note("ECC " + decimal(c.Value) + " uncorrectable"),
		Message: "GPU " + number(g.Index) + " has " + counted(c.Value, "uncorrectable ECC error") + " from before this start",
		Advice:  "reset the GPU when its jobs are done",
	}
	if fresh := c.Value - c.First; fresh > 0 {
		a.Since = c.Risen
		a.Message = "GPU " + number(g.Index) + " has " + counted(fresh, "new uncorrectable ECC error")
		if c.First > 0 {
			a.Message += ", " + decimal(c.Value) + " since the driver was loaded"
		}
		if within(snap.Time, c.Risen, newErrorsFor) {
			a.Severity = snapshot.Urgent
			a.Advice = "results may be wrong; end its jobs and reset it"
		}
	}
	return append(found, candidate{
		key:        key{kind: snapshot.AlertECC, gpuUUID: g.UUID},
		hysteresis: hysteresis{samples: 1, misses: 1},
		alert:      a,
	})
}
