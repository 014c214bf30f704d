package alert

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// errorCount is a GPU's count of uncorrectable ECC errors since the driver was
// loaded. The errors in the first snapshot are old ones.
type errorCount struct {
	Known bool
	First uint64 // in the first snapshot, or after the driver was reloaded
	Value uint64
	Since time.Time // of the first snapshot
	Risen time.Time // of the last rise
}

func (c *errorCount) add(now time.Time, count quantity.Optional[uint64]) {
	v, ok := count.Value()
	switch {
	case !ok:
		return // the last count stays
	case !c.Known || v < c.Value:
		*c = errorCount{Known: true, First: v, Since: now}
	case v > c.Value:
		c.Risen = now
	}
	c.Value = v
}

// newErrorsFor is how long a new uncorrectable error is urgent. Then it is a
// notice until the next reset, as the count stays.
const newErrorsFor = time.Hour

func (e *Evaluator) ecc(found []candidate, snap *snapshot.Snapshot, g *snapshot.GPU) []candidate {
	c := &e.GPUs[g.UUID].Errors
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
	return append(found, candidate{Key: key{Kind: a.Kind, GPUUUID: g.UUID}, Hysteresis: atOnce, Alert: a})
}
