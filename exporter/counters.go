package exporter

import (
	"maps"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// counters add up what happened since the exporter started.
type counters struct {
	gpus      map[string]*gpuCounters // by UUID
	decisions map[decision]int
	rescues   map[string]int
	retries   map[snapshot.RowID]int64 // as each probe counts them
}

// gpuCounters are those of a GPU.
type gpuCounters struct {
	outOfMemory, retries, flushes, flushed float64
	xids                                   map[uint64]int
	newest                                 time.Time // of the Xids that were counted
}

// decision is what decisions of the guard are counted by.
type decision struct {
	rule string
	kind snapshot.GuardDecisionKind
}

func newCounters() counters {
	return counters{
		gpus: map[string]*gpuCounters{}, decisions: map[decision]int{}, retries: map[snapshot.RowID]int64{},
		rescues: map[string]int{string(snapshot.EventRescued): 0, string(snapshot.EventNotRescued): 0},
	}
}

func (c *counters) observe(snap *snapshot.Snapshot, events []snapshot.Event) {
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		if c.gpus[g.UUID] == nil {
			c.gpus[g.UUID] = &gpuCounters{xids: map[uint64]int{}}
			if len(g.XIDs) > 0 {
				c.gpus[g.UUID].newest = g.XIDs[0].Time // of before
			}
		}
		c.gpus[g.UUID].takeXIDs(g.XIDs)
	}
	// A GPU that only probes named is not kept: there may be any number.
	maps.DeleteFunc(c.gpus, func(uuid string, _ *gpuCounters) bool { return snap.GPU(uuid) == nil })
	c.takeRetries(snap)
	for i := range events {
		c.take(&events[i])
	}
}

func (c *counters) take(e *snapshot.Event) {
	if d := e.Decision; d != nil {
		c.decisions[decision{d.Rule, d.Kind}]++
	}
	if e.Kind == snapshot.EventRescued || e.Kind == snapshot.EventNotRescued {
		c.rescues[string(e.Kind)]++
	}
	g := c.gpus[e.GPUUUID]
	if g == nil {
		return
	}
	switch e.Kind {
	case snapshot.EventOutOfMemory:
		g.outOfMemory++
	case snapshot.EventFlush:
		if e.Decision != nil {
			g.flushes++
			g.flushed += float64(max(e.Decision.Measured.Or(0), 0))
		}
	}
}

// takeXIDs counts the critical errors that are new; they come newest first.
func (g *gpuCounters) takeXIDs(xids []snapshot.XID) {
	for _, x := range xids {
		if !x.Time.After(g.newest) {
			break
		}
		g.xids[x.Code]++
	}
	if len(xids) > 0 {
		g.newest = xids[0].Time
	}
}

// takeRetries adds to its GPU what each probe has counted since the snapshot before. A
// process that is new has its past behind it.
func (c *counters) takeRetries(snap *snapshot.Snapshot) {
	here := make(map[snapshot.RowID]int64, len(c.retries))
	for i := range snap.Rows {
		p := &snap.Rows[i]
		before, known := c.retries[p.ID]
		reported := quantity.Unknown[int64]()
		if p.Probe != nil {
			reported = p.Probe.AllocRetries
		}
		switch count, counts := reported.Value(); {
		case counts:
			g := c.gpus[p.ID.GPUUUID]
			if known && count > before && g != nil {
				g.retries += float64(count - before)
			}
			here[p.ID] = count
		case known:
			here[p.ID] = before // its probe does not answer at present
		}
	}
	c.retries = here
}

func (c *counters) write(w *writer, snap *snapshot.Snapshot) {
	for i := range snap.GPUs {
		g := c.gpus[snap.GPUs[i].UUID]
		if g == nil {
			continue
		}
		of := gpuLabels(&snap.GPUs[i])
		w.exported(metric.OutOfMemory, of, g.outOfMemory)
		w.exported(metric.AllocRetries, of, g.retries)
		for code, n := range g.xids {
			w.exported(metric.XIDErrors, of, float64(n), number(int(code)))
		}
		if snap.Guard != nil {
			w.exported(metric.Flushes, of, g.flushes)
			w.exported(metric.FlushedBytes, of, g.flushed)
		}
	}
	if snap.Guard == nil {
		return
	}
	for d, n := range c.decisions {
		w.exported(metric.GuardDecisions, nil, float64(n), d.rule, string(d.kind))
	}
	for outcome, n := range c.rescues {
		w.exported(metric.Rescues, nil, float64(n), outcome)
	}
}
