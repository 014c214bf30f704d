package alert

import (
	"maps"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// rowTrace is the past of a row.
type rowTrace struct {
	tick  uint64 // of the snapshot that last had it
	ended bool
	row   *snapshot.Process // as last seen

	Since       time.Time
	OutOfMemory counter
	Retries     counter
	Growth      growth
}

// gpuTrace is the past of a GPU.
type gpuTrace struct {
	tick  uint64
	rows  []*snapshot.Process // those of this snapshot
	young bool                // one of them has just started

	Growth growth
	Errors errorCount
}

// counter follows a count that falls only where its process restarts.
type counter struct {
	Known  bool
	Value  int64
	Rises  int64 // by how much it has risen in the present series of rises
	Risen  time.Time
	Series time.Duration // rises closer together than this are one series
}

func (c *counter) add(now time.Time, count quantity.Optional[int64]) {
	v, ok := count.Value()
	if !ok {
		return
	}
	if c.Known && v > c.Value {
		if !within(now, c.Risen, c.Series) {
			c.Rises = 0
		}
		c.Rises += v - c.Value
		c.Risen = now
	}
	c.Known, c.Value = true, v
}

// warmUp is how long after its start a process loads what it needs: growth does
// not count then.
const warmUp = 5 * time.Minute

// trace takes a snapshot into the traces, before the rules are applied.
func (e *Evaluator) trace(snap *snapshot.Snapshot) {
	for _, g := range e.GPUs {
		clear(g.rows)
		g.rows, g.young = g.rows[:0], false
	}
	for i := range snap.Rows {
		e.traceRow(snap.Time, &snap.Rows[i])
	}
	e.traceEnded(snap)
	for i := range snap.GPUs {
		e.traceGPU(snap.Time, &snap.GPUs[i])
	}
	maps.DeleteFunc(e.GPUs, func(_ string, g *gpuTrace) bool { return g.tick != e.tick })
}

func (e *Evaluator) traceRow(now time.Time, p *snapshot.Process) {
	t := e.Rows[p.ID]
	if t == nil {
		t = &rowTrace{Since: now}
		t.OutOfMemory.Series = e.thresholds.OutOfMemoryFor
		e.Rows[p.ID] = t
	}
	if t.tick == e.tick {
		return // listed twice
	}
	t.tick, t.ended, t.row = e.tick, false, p
	if p.Probe != nil {
		t.OutOfMemory.add(now, p.Probe.OutOfMemoryCount)
		t.Retries.add(now, p.Probe.AllocRetries)
	}
	t.Growth.add(now, p.Used, t.young(now))
	g := e.gpu(p.ID.GPUUUID)
	g.rows = append(g.rows, p)
	g.young = g.young || t.young(now)
}

// young reports that a process has just started, or may have.
func (t *rowTrace) young(now time.Time) bool {
	if t.row.Started.IsZero() {
		return now.Sub(t.Since) < warmUp
	}
	return now.Sub(t.row.Started) < warmUp
}

// traceEnded takes in the last report of processes that ended: one that exits
// because it is out of memory reports that last.
func (e *Evaluator) traceEnded(snap *snapshot.Snapshot) {
	for id, t := range e.Rows {
		if t.tick == e.tick {
			continue
		}
		if !t.ended {
			t.ended = true
			if ended := snap.EndedRow(id); ended != nil {
				t.OutOfMemory.add(snap.Time, ended.OutOfMemoryCount)
			}
		}
		if !within(snap.Time, t.OutOfMemory.Risen, e.thresholds.OutOfMemoryFor) {
			delete(e.Rows, id)
		}
	}
}

func (e *Evaluator) gpu(uuid string) *gpuTrace {
	g := e.GPUs[uuid]
	if g == nil {
		g = &gpuTrace{}
		e.GPUs[uuid] = g
	}
	g.tick = e.tick
	return g
}

func (e *Evaluator) traceGPU(now time.Time, g *snapshot.GPU) {
	t := e.gpu(g.UUID)
	if g.State != snapshot.GPUOK {
		return
	}
	t.Errors.add(now, g.ECC.Uncorrected)
	t.Growth.add(now, g.Memory.Used, t.young)
}
