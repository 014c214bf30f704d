package guard

import (
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Limits of a trace.
const (
	watchedLeast    = 20 * time.Second // how long a row is watched before a rule flushes it
	loadTime        = time.Minute      // how long a program is assumed to load its data
	growthTime      = 10 * time.Second // how far back growth counts as present growth
	emptiedCooldown = time.Minute      // how long rules leave a process alone after others have emptied its cache
	traceKept       = time.Minute      // how long a trace outlives its row: the driver may fail to answer meanwhile
)

// trace is the past of a row.
type trace struct {
	began, seen time.Time

	used, reserved snapshot.Bytes // at the newest snapshot
	cached         snapshot.Bytes
	low            quantity.Bytes // the memory used at lowAt, from which growth is measured
	lowAt          time.Time
	emptied        time.Time // when its cache was emptied by others than this guard

	outside quantity.Bytes // used outside its allocators, by the newest figures

	owner   uint32
	server  process.Identity // the server that the row belongs to
	unread  bool             // it was reported that the configuration may protect the row
	busy    bool             // the row's process is being flushed
	flight  *Decision        // the decision by which the row is being flushed; nil: none
	begun   snapshot.Bytes   // the memory used when the newest flush began
	flushed *flushed
	flushes int       // since it was first seen
	stage   int       // of the back-off; 0: none
	until   time.Time // until then the row is left alone
	why     string
}

// flushed is a past flush. The trace watches how much of its memory the process takes again.
type flushed struct {
	decision Decision
	end      time.Time
	freed    quantity.Bytes
	base     snapshot.Bytes // the least memory used since
}

// usedOf returns a row's used memory, by the driver or, if that is unknown, by its allocators.
func usedOf(p *snapshot.Process) snapshot.Bytes {
	if p.Used.Known() {
		return p.Used
	}
	return p.Reserved()
}

func (t *trace) add(now time.Time, p *snapshot.Process) {
	if t.began.IsZero() {
		t.began = now // the trace was taken over
	}
	t.owner = ownerOf(p)
	if p.Served != nil {
		t.server = p.Served.Process
	}
	before, had := t.cached.Value()
	after, has := p.Cached.Value()
	// An allocator that frees most of a large cache did so because it was asked to.
	own := t.busy || t.flushed != nil && now.Sub(t.flushed.end) <= settleTime
	if had && has && !own && before >= minFlush && after < before/4 && t.reserved.Or(0)-p.Reserved().Or(0) >= before/2 {
		t.emptied = now
	}
	t.cached, t.reserved = p.Cached, p.Reserved()
	if used, ok := usedOf(p).Value(); ok {
		if t.lowAt.IsZero() || used <= t.low || now.Sub(t.lowAt) > growthTime {
			t.low, t.lowAt = used, now
		}
	}
	t.used, t.seen = usedOf(p), now
}

// spare returns how much of a flush should stay free if the process needs this much again; unknown
// if its demand is unknown.
func spare(p *snapshot.Process, needs quantity.Bytes) snapshot.Bytes {
	if !p.Demand.Known {
		return snapshot.Bytes{}
	}
	return quantity.From(p.Spare(needs), quantity.Computed)
}

func (t *trace) grows() bool {
	used, ok := t.used.Value()
	return ok && used-t.low > snapshot.Tolerance(used)
}
