package alert

import (
	"maps"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

type rowTrace struct {
	tick  uint64 // the tick of the last snapshot with the row
	ended bool
	row   *snapshot.Process // as last seen

	since       time.Time
	outOfMemory counter
	retries     counter
	grew        time.Time // when the process was last forecast to grow, after the warm-up
}

type gpuTrace struct {
	tick  uint64
	young bool // a process on the GPU has just started

	grew   time.Time // when the GPU was last forecast to be full
	errors errorCount
}

// counter follows a count that falls only when its process restarts.
type counter struct {
	known bool
	value int64
	rises int64 // sum of the recent rises, each within outOfMemoryFor of the one before
	risen time.Time
}

func (c *counter) add(now time.Time, count quantity.Optional[int64]) {
	v, ok := count.Value()
	if !ok {
		return
	}
	if c.known && v > c.value {
		if !within(now, c.risen, outOfMemoryFor) {
			c.rises = 0
		}
		c.rises += v - c.value
		c.risen = now
	}
	c.known, c.value = true, v
}

// warmUp is how long the growth of a new process does not count, because the process loads data.
const warmUp = 10 * time.Minute

// trace adds a snapshot to the traces, before the rules are applied.
func (e *Evaluator) trace(snap *snapshot.Snapshot) {
	for _, g := range e.gpus {
		g.young = false
	}
	for i := range snap.Rows {
		e.traceRow(snap.Time, &snap.Rows[i])
	}
	e.traceEnded(snap)
	for i := range snap.GPUs {
		e.traceGPU(snap.Time, &snap.GPUs[i])
	}
	maps.DeleteFunc(e.gpus, func(_ string, g *gpuTrace) bool { return g.tick != e.tick })
}

func (e *Evaluator) traceRow(now time.Time, p *snapshot.Process) {
	t := e.rows[p.ID]
	if t == nil {
		t = &rowTrace{since: now}
		e.rows[p.ID] = t
	}
	if t.tick == e.tick {
		return // listed twice
	}
	t.tick, t.ended, t.row = e.tick, false, p
	if p.Probe != nil {
		t.outOfMemory.add(now, p.Probe.OutOfMemoryCount)
		t.retries.add(now, p.Probe.AllocRetries)
	}
	if p.GrowthPerSecond.Or(0) > 0 && !t.young(now) {
		t.grew = now
	}
	g := e.gpu(p.ID.GPUUUID)
	g.young = g.young || t.young(now)
}

// young reports whether a process has just started, or may have.
func (t *rowTrace) young(now time.Time) bool {
	if t.row.Started.IsZero() {
		return now.Sub(t.since) < warmUp
	}
	return now.Sub(t.row.Started) < warmUp
}

// traceEnded adds the last reports of ended processes, which may have an out-of-memory error.
func (e *Evaluator) traceEnded(snap *snapshot.Snapshot) {
	for id, t := range e.rows {
		if t.tick == e.tick {
			continue
		}
		if !t.ended {
			t.ended = true
			if ended := snap.EndedRow(id); ended != nil {
				t.outOfMemory.add(snap.Time, ended.OutOfMemoryCount)
			}
		}
		if !within(snap.Time, t.outOfMemory.risen, outOfMemoryFor) {
			delete(e.rows, id)
		}
	}
}

func (e *Evaluator) gpu(uuid string) *gpuTrace {
	g := e.gpus[uuid]
	if g == nil {
		g = &gpuTrace{}
		e.gpus[uuid] = g
	}
	g.tick = e.tick
	return g
}

func (e *Evaluator) traceGPU(now time.Time, g *snapshot.GPU) {
	t := e.gpu(g.UUID)
	if g.State != snapshot.GPUOK {
		return
	}
	t.errors.add(now, g.ECC.Uncorrected)
	if g.FullIn != nil && !t.young {
		t.grew = now
	}
}
