package exporter

import (
	"maps"
	"strconv"
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// counters add up what happened since the exporter started.
type counters struct {
	gpus      map[string]*gpuCounters // by UUID
	decisions map[decision]int
	rescues   map[string]int
	began     time.Time // when the first snapshot was taken
	newest    time.Time // when the newest snapshot was taken
	late      float64   // snapshots that came more than two intervals after the previous one
	probes    map[snapshot.RowID]reported
}

// reported has the counts of a process's probe.
type reported struct{ retries, outOfMemory int64 }

type gpuCounters struct {
	outOfMemory, retries probeCounter
	flushes, flushed     float64
	xids                 map[uint64]int
	newest               time.Time // when the newest counted Xid was reported
}

// probeCounter counts what probes report. The counter is unknown before the first report.
type probeCounter struct {
	n     float64
	since time.Time // when the first report came, zero before that
}

// firstZero is how long a series that begins with a probe stays 0. Prometheus counts an increase only from the
// first value that it has scraped, and it usually scrapes at least once a minute.
const firstZero = time.Minute

func (c *probeCounter) add(now time.Time, n int64) {
	if c.since.IsZero() {
		c.since = now
	}
	c.n += float64(max(n, 0))
}

func (c *probeCounter) write(w writer, id metric.ExportedID, values labels, now time.Time) {
	switch {
	case c.since.IsZero():
	case now.Sub(c.since) < firstZero:
		w.exported(id, values, 0)
	default:
		w.exported(id, values, c.n)
	}
}

type decision struct {
	rule string
	kind snapshot.GuardDecisionKind
}

func (c *counters) observe(snap *snapshot.Snapshot, events []snapshot.Event) {
	if c.began.IsZero() {
		c.began = snap.Time
	} else if snap.Time.Sub(c.newest) > 2*snap.Interval {
		c.late++
	}
	c.newest = snap.Time
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		if c.gpus[g.UUID] == nil {
			c.gpus[g.UUID] = &gpuCounters{xids: map[uint64]int{}}
			if len(g.XIDs) > 0 {
				c.gpus[g.UUID].newest = g.XIDs[0].Time // Xids from before the GPU was first seen do not count
			}
		}
		c.gpus[g.UUID].takeXIDs(g.XIDs)
	}
	// GPUs that have gone lose their counters, because probes may name any number of GPUs.
	maps.DeleteFunc(c.gpus, func(uuid string, _ *gpuCounters) bool { return snap.GPU(uuid) == nil })
	noted := map[snapshot.RowID]int64{} // out-of-memory errors that have an event
	for i := range events {
		c.take(snap.Time, &events[i])
		if events[i].Kind == snapshot.EventOutOfMemory {
			noted[events[i].Row]++
		}
	}
	c.takeReports(snap, noted)
}

func (c *counters) take(now time.Time, e *snapshot.Event) {
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
		g.outOfMemory.add(now, 1)
	case snapshot.EventFlush:
		if e.Decision != nil {
			g.flushes++
			g.flushed += float64(max(e.Decision.Measured.Or(0), 0))
		}
	}
}

// takeXIDs counts the new Xids. The list is ordered newest first.
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

// takeReports adds to the probe's GPU the alloc retries since the previous snapshot, and the out-of-memory errors
// before a probe's first report, for which the sampler makes no events. It leaves out counts from before the
// first report of a process that started before the exporter.
func (c *counters) takeReports(snap *snapshot.Snapshot, noted map[snapshot.RowID]int64) {
	current := make(map[snapshot.RowID]reported, len(c.probes))
	for i := range snap.Rows {
		p := &snap.Rows[i]
		before, known := c.probes[p.ID]
		if p.Probe == nil || !p.Probe.AllocRetries.Known() && !p.Probe.OutOfMemoryCount.Known() {
			if known {
				current[p.ID] = before // its probe does not answer at present
			}
			continue
		}
		now := reported{p.Probe.AllocRetries.Or(before.retries), p.Probe.OutOfMemoryCount.Or(before.outOfMemory)}
		current[p.ID] = now
		g := c.gpus[p.ID.GPUUUID]
		if g == nil {
			continue
		}
		retries, failed := now.retries-before.retries, int64(0)
		if !known {
			failed = now.outOfMemory - noted[p.ID]
			if !p.Started.After(c.began) {
				retries, failed = 0, 0
			}
		}
		if p.Probe.AllocRetries.Known() {
			g.retries.add(snap.Time, retries)
		}
		if p.Probe.OutOfMemoryCount.Known() {
			g.outOfMemory.add(snap.Time, failed)
		}
	}
	c.probes = current
}

func (c *counters) write(w writer, snap *snapshot.Snapshot) {
	w.exported(metric.LateSamples, nil, c.late)
	for i := range snap.GPUs {
		g := c.gpus[snap.GPUs[i].UUID]
		if g == nil {
			continue
		}
		subject := gpuLabels(&snap.GPUs[i])
		g.outOfMemory.write(w, metric.OutOfMemory, subject, snap.Time)
		g.retries.write(w, metric.AllocRetries, subject, snap.Time)
		for code, n := range g.xids {
			w.exported(metric.XIDErrors, subject, float64(n), strconv.Itoa(int(code)))
		}
		if snap.Guard != nil {
			w.exported(metric.Flushes, subject, g.flushes)
			w.exported(metric.FlushedBytes, subject, g.flushed)
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
