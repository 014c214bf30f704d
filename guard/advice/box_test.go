package advice

import (
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

const (
	gib = quantity.GiB
	mib = quantity.MiB
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func amount(b quantity.Bytes) snapshot.Bytes { return quantity.From(b, quantity.Probe) }
func count(n int64) quantity.Optional[int64] { return quantity.From(n, quantity.Probe) }

// past is a history whose series are functions of the time before now.
type past struct {
	snapshot.History
	series map[metric.ID]func(ago time.Duration) quantity.Bytes // of the process
	events []snapshot.Event
	since  time.Duration // how far it goes back
}

func (h *past) Events(int) []snapshot.Event { return h.events }

func (h *past) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := make([]snapshot.Point, buckets)
	width := to.Sub(from) / time.Duration(buckets)
	value := h.series[key.Metric]
	for i := range points {
		p := &points[i]
		p.Time = from.Add(width * time.Duration(i+1))
		ago := now.Sub(p.Time)
		if value == nil || ago > h.since || ago < 0 || key.Row.Process.PID != 100 {
			continue
		}
		p.Known = true
		p.Last = int64(value(ago))
		p.Min, p.Max = p.Last, p.Last
		for at := ago; at < ago+width; at += time.Second {
			v := int64(value(at))
			p.Min, p.Max = min(p.Min, v), max(p.Max, v)
		}
	}
	return points
}

func always(b quantity.Bytes) func(time.Duration) quantity.Bytes {
	return func(time.Duration) quantity.Bytes { return b }
}

// box is a GPU of 80 GiB, and on it a process of PyTorch that needs no advice.
type box struct {
	Input
	snap *snapshot.Snapshot
	past *past
	p    *snapshot.Process
	gpu  *snapshot.GPU
}

func newBox() *box {
	b := &box{past: &past{since: 3 * time.Hour, series: map[metric.ID]func(time.Duration) quantity.Bytes{}}}
	b.snap = &snapshot.Snapshot{Time: now, GPUs: []snapshot.GPU{{
		UUID: "GPU-0", State: snapshot.GPUOK, Memory: snapshot.Memory{Total: amount(80 * gib), Used: amount(30 * gib), Free: amount(50 * gib), Reserved: amount(0)},
	}}}
	b.snap.Rows = []snapshot.Process{{
		ID:   snapshot.RowID{Process: process.Identity{PID: 100, StartTime: 1, Namespace: 1}, GPUUUID: "GPU-0"},
		User: "alice", Name: "train.py", Started: now.Add(-3 * time.Hour), Runtime: "PyTorch", Used: amount(30 * gib), Peak: amount(30 * gib),
		Allocated: amount(28 * gib), Cached: amount(gib), Fragmented: amount(0), Returnable: amount(gib), Other: amount(gib / 2),
		Probe: &snapshot.Probe{State: snapshot.ProbeLive, OutOfMemoryCount: count(0), AllocRetries: count(0)},
		Allocators: []snapshot.Allocator{{Kind: "pytorch", Basis: "stranded", Reserved: amount(29 * gib), Allocated: amount(28 * gib),
			Cached: amount(gib), Fragmented: amount(0), Returnable: amount(gib)}},
	}}
	b.Snapshot, b.History = b.snap, b.past
	b.p, b.gpu = &b.snap.Rows[0], &b.snap.GPUs[0]
	return b
}

func (b *box) advice() []Advice { return Of(b.Input, b.p.ID) }

// neighbour adds a process to the GPU.
func (b *box) neighbour(used quantity.Bytes) *snapshot.Process {
	n := snapshot.Process{ID: b.p.ID, Used: amount(used), Peak: amount(used), Runtime: "PyTorch", Probe: &snapshot.Probe{State: snapshot.ProbeLive}}
	n.ID.Process.PID = 100 + len(b.snap.Rows)
	b.snap.Rows = append(b.snap.Rows, n)
	b.p = &b.snap.Rows[0]
	return &b.snap.Rows[len(b.snap.Rows)-1]
}

// trains makes the process step every second, between a trough and the allocator's peak.
func (b *box) trains(trough, peak quantity.Bytes) {
	b.p.Steps = count(3000)
	b.p.Allocators[0].PeakAllocated = amount(peak)
	b.p.Allocators[0].PeakReserved = amount(max(peak, b.p.Allocators[0].Reserved.Or(0)))
	b.past.series[metric.Steps] = func(ago time.Duration) quantity.Bytes { return 3000 - quantity.Bytes(ago/time.Second) }
	b.past.series[metric.Allocated] = func(ago time.Duration) quantity.Bytes {
		return trough + (peak-trough)/4*quantity.Bytes(ago/time.Second%3)
	}
	b.past.series[metric.Used] = always(b.p.Used.Or(0))
}

// of returns the first advice of a rule.
func of(all []Advice, rule Rule) *Advice {
	for i := range all {
		if all[i].Rule == rule {
			return &all[i]
		}
	}
	return nil
}
