package alert

import (
	"cmp"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
)

// FullWithin is the median time to full below which the full-in alert is raised.
const FullWithin = 15 * time.Minute

const (
	outOfMemoryFor = time.Minute      // how long an out-of-memory error is an alert
	throttledFor   = 30 * time.Second // how long clocks must have been held down
	xidFor         = 10 * time.Minute // how long a critical error is shown
)

// Evaluator applies the rules. It is not safe for concurrent use.
type Evaluator struct {
	low     float64 // free memory below this fraction of a GPU's capacity is low
	history snapshot.History
	snap    *snapshot.Snapshot // the newest
	latches map[snapshot.AlertKey]*latch
	rows    map[snapshot.RowID]*rowTrace
	gpus    map[string]*gpuTrace
	tick    uint64
}

// New returns an Evaluator without a past. Below the fraction low of a GPU's capacity its free memory
// is an alert, never if low is negative. The history shows how much of a flush stays free.
func New(low float64, history snapshot.History) *Evaluator {
	return &Evaluator{
		low:     low,
		history: history,
		latches: make(map[snapshot.AlertKey]*latch),
		rows:    make(map[snapshot.RowID]*rowTrace),
		gpus:    make(map[string]*gpuTrace),
	}
}

// candidate is a rule's finding in one snapshot.
type candidate struct {
	hysteresis hysteresis
	alert      snapshot.Alert
	soon       time.Duration    // orders alerts of one kind: the soonest first
	forecast   *snapshot.FullIn // of the last snapshot with the candidate
	announced  *snapshot.FullIn // forecast, less the time that has passed since that snapshot
	label      string           // of the GPU or instance: "3", "5:1"
	// If the candidate is missing and used memory is below refuted, the alert ends.
	refuted quantity.Bytes
}

// Evaluate takes the next snapshot and returns the alerts that stand, worst first. It does not
// change the snapshot, and ignores its Alerts.
func (e *Evaluator) Evaluate(snap *snapshot.Snapshot) []snapshot.Alert {
	e.tick++
	e.snap = snap
	e.trace(snap)

	var found []candidate
	found = e.driver(found, snap)
	found = e.outOfMemory(found, snap)
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		found = e.state(found, snap, g)
		found = e.ecc(found, snap, g)
		found = e.xid(found, snap, g)
		if g.State != snapshot.GPUOK {
			continue // the other figures are unknown
		}
		found = e.throttled(found, g)
		found = e.fullIn(found, g)
		found = e.leaks(found, g)
		found = e.lowMemory(found, snap, g)
	}
	standing := e.latch(snap, found)
	standing = withoutRepetition(standing)
	sorted.Stable(standing, worstFirst)
	var alerts []snapshot.Alert
	for i := range standing {
		alerts = append(alerts, standing[i].alert)
	}
	return alerts
}

// Stands reports whether an alert stands, even if another alert is shown instead.
func (e *Evaluator) Stands(a *snapshot.Alert) bool {
	l := e.latches[a.Key()]
	return l != nil && l.standing
}

// withoutRepetition drops the low-memory and leak alerts of each GPU or MIG instance that has a
// full-in alert.
func withoutRepetition(standing []candidate) []candidate {
	filling := make(map[snapshot.Place]bool)
	for i := range standing {
		if a := &standing[i].alert; a.Kind == snapshot.AlertFullIn {
			filling[snapshot.Place{GPUUUID: a.GPUUUID, Instance: a.Instance}] = true
		}
	}
	return slices.DeleteFunc(standing, func(c candidate) bool {
		a := &c.alert
		return (a.Kind == snapshot.AlertLowMemory || a.Kind == snapshot.AlertLeak) && filling[snapshot.Place{GPUUUID: a.GPUUUID, Instance: a.Instance}]
	})
}

// order lists the kinds within a severity, the worst first.
var order = [...]snapshot.AlertKind{
	snapshot.AlertDriver, snapshot.AlertLost, snapshot.AlertECC, snapshot.AlertOutOfMemory, snapshot.AlertFullIn,
	snapshot.AlertLowMemory, snapshot.AlertLeak, snapshot.AlertXID, snapshot.AlertHanging, snapshot.AlertThrottled,
}

func worstFirst(a, b candidate) int {
	this, other := a.alert.Key(), b.alert.Key()
	return cmp.Or(
		cmp.Compare(b.alert.Severity, a.alert.Severity),
		cmp.Compare(slices.Index(order[:], this.Kind), slices.Index(order[:], other.Kind)),
		cmp.Compare(a.soon, b.soon),
		cmp.Compare(a.alert.GPU, b.alert.GPU),
		cmp.Compare(this.GPUUUID, other.GPUUUID),
		this.Instance.Compare(other.Instance),
		cmp.Compare(this.Row.Process.PID, other.Row.Process.PID),
		cmp.Compare(this.Row.Process.StartTime, other.Row.Process.StartTime),
		cmp.Compare(this.Row.Process.Namespace, other.Row.Process.Namespace),
	)
}

// within reports whether t is less than d before now. It returns false if t is after now, because
// the clock was set back.
func within(now, t time.Time, d time.Duration) bool {
	age := now.Sub(t)
	return !t.IsZero() && age >= 0 && age < d
}
