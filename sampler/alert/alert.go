package alert

import (
	"cmp"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Thresholds are the rules' limits. The zero value means the defaults; a
// negative LowMemoryFraction switches that rule off.
type Thresholds struct {
	LowMemoryFraction float64       // of a GPU's capacity that is free: 0.10
	FullWithin        time.Duration // a median time to full below it is an alarm: 15 min
	OutOfMemoryFor    time.Duration // how long an out-of-memory event is an alarm: 60 s
	ThrottledFor      time.Duration // how long clocks must have been held down: 30 s
	XIDFor            time.Duration // how long a critical error is shown: 10 min
}

func (t Thresholds) withDefaults() Thresholds {
	t.LowMemoryFraction = cmp.Or(t.LowMemoryFraction, 0.10)
	t.FullWithin = cmp.Or(t.FullWithin, 15*time.Minute)
	t.OutOfMemoryFor = cmp.Or(t.OutOfMemoryFor, time.Minute)
	t.ThrottledFor = cmp.Or(t.ThrottledFor, 30*time.Second)
	t.XIDFor = cmp.Or(t.XIDFor, 10*time.Minute)
	return t
}

// Evaluator applies the rules. It is not safe for concurrent use.
type Evaluator struct {
	thresholds Thresholds
	latches    map[key]*latch
	rows       map[snapshot.RowID]*rowTrace
	gpus       map[string]*gpuTrace
	tick       uint64
	found      []*snapshot.Process // room for at
}

// New makes an Evaluator without a past.
func New(thresholds Thresholds) *Evaluator {
	return &Evaluator{
		thresholds: thresholds.withDefaults(),
		latches:    make(map[key]*latch),
		rows:       make(map[snapshot.RowID]*rowTrace),
		gpus:       make(map[string]*gpuTrace),
	}
}

// key identifies a candidate from one snapshot to the next. An alert about a
// GPU has no row in its key: the process that it names may change.
type key struct {
	kind     snapshot.AlertKind
	gpuUUID  string
	instance snapshot.InstanceID
	row      snapshot.RowID
}

// place is the GPU or MIG instance that the candidate is about.
func (k key) place() place {
	if k.row != (snapshot.RowID{}) {
		return place{gpuUUID: k.gpuUUID, instance: k.row.Instance}
	}
	return place{gpuUUID: k.gpuUUID, instance: k.instance}
}

// candidate is what a rule finds in one snapshot.
type candidate struct {
	key        key
	hysteresis hysteresis
	alert      snapshot.Alert
	soon       time.Duration // orders alerts of one kind: the soonest first
	// refuted ends the alert at the first miss where the place uses less than this.
	refuted quantity.Bytes
}

// Evaluate looks at the next snapshot and returns the alerts that stand,
// worst first. The snapshot is not changed and its own Alerts are not read.
func (e *Evaluator) Evaluate(snap *snapshot.Snapshot) []snapshot.Alert {
	e.tick++
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
			continue // its other figures are old
		}
		found = e.throttled(found, g)
		found = e.fullIn(found, g)
		found = e.leaks(found, g)
		found = e.lowMemory(found, snap, g)
	}
	standing := e.latch(snap, found)
	standing = withoutRepetition(standing)
	slices.SortFunc(standing, worstFirst)
	var alerts []snapshot.Alert
	for i := range standing {
		alerts = append(alerts, standing[i].alert)
	}
	return alerts
}

// withoutRepetition drops the alerts low memory and leak where the same GPU or
// MIG instance has the alert full-in.
func withoutRepetition(standing []candidate) []candidate {
	filling := make(map[place]bool)
	for i := range standing {
		if standing[i].key.kind == snapshot.AlertFullIn {
			filling[standing[i].key.place()] = true
		}
	}
	return slices.DeleteFunc(standing, func(c candidate) bool {
		repeats := c.key.kind == snapshot.AlertLowMemory || c.key.kind == snapshot.AlertLeak
		return repeats && filling[c.key.place()]
	})
}

// order is the kinds within a severity, the worst first.
var order = [...]snapshot.AlertKind{
	snapshot.AlertDriver, snapshot.AlertLost, snapshot.AlertECC, snapshot.AlertFullIn, snapshot.AlertOutOfMemory,
	snapshot.AlertLowMemory, snapshot.AlertLeak, snapshot.AlertXID, snapshot.AlertHanging, snapshot.AlertThrottled,
}

func worstFirst(a, b candidate) int {
	return cmp.Or(
		cmp.Compare(b.alert.Severity, a.alert.Severity),
		cmp.Compare(slices.Index(order[:], a.key.kind), slices.Index(order[:], b.key.kind)),
		cmp.Compare(a.soon, b.soon),
		cmp.Compare(a.alert.GPU, b.alert.GPU),
		cmp.Compare(a.key.gpuUUID, b.key.gpuUUID),
		cmp.Compare(a.key.instance.GPU, b.key.instance.GPU),
		cmp.Compare(a.key.instance.Compute, b.key.instance.Compute),
		compareRows(a.key.row, b.key.row),
	)
}

func compareRows(a, b snapshot.RowID) int {
	return cmp.Or(
		cmp.Compare(a.Process.PID, b.Process.PID),
		cmp.Compare(a.Process.StartTime, b.Process.StartTime),
		cmp.Compare(a.Process.Namespace, b.Process.Namespace),
		cmp.Compare(a.Instance.GPU, b.Instance.GPU),
		cmp.Compare(a.Instance.Compute, b.Instance.Compute),
	)
}

// within reports whether t is less than d before now. A time after now (the
// clock was set back) is not.
func within(now, t time.Time, d time.Duration) bool {
	age := now.Sub(t)
	return !t.IsZero() && age >= 0 && age < d
}
