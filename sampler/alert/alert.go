package alert

import (
	"cmp"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// FullWithin is the time to full from which the alert is raised, unless the
// Thresholds have another one.
const FullWithin = 15 * time.Minute

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
	t.FullWithin = cmp.Or(t.FullWithin, FullWithin)
	t.OutOfMemoryFor = cmp.Or(t.OutOfMemoryFor, time.Minute)
	t.ThrottledFor = cmp.Or(t.ThrottledFor, 30*time.Second)
	t.XIDFor = cmp.Or(t.XIDFor, 10*time.Minute)
	return t
}

// Evaluator applies the rules. It is not safe for concurrent use.
type Evaluator struct {
	thresholds Thresholds
	past
	tick uint64
}

// past is what an Evaluator remembers. The exported fields in it are saved.
type past struct {
	Latches map[key]*latch
	Rows    map[snapshot.RowID]*rowTrace
	GPUs    map[string]*gpuTrace
}

// New makes an Evaluator without a past.
func New(thresholds Thresholds) *Evaluator {
	return &Evaluator{
		thresholds: thresholds.withDefaults(),
		past: past{
			Latches: make(map[key]*latch),
			Rows:    make(map[snapshot.RowID]*rowTrace),
			GPUs:    make(map[string]*gpuTrace),
		},
	}
}

// key identifies a candidate from one snapshot to the next. An alert about a
// GPU has no row in its key: the process that it names may change.
type key struct {
	Kind     snapshot.AlertKind
	GPUUUID  string
	Instance snapshot.InstanceID
	Row      snapshot.RowID
}

// place is the GPU or MIG instance that the candidate is about.
func (k key) place() place {
	if k.Row != (snapshot.RowID{}) {
		return place{gpuUUID: k.GPUUUID, instance: k.Row.Instance}
	}
	return place{gpuUUID: k.GPUUUID, instance: k.Instance}
}

// candidate is what a rule finds in one snapshot.
type candidate struct {
	Key        key
	Hysteresis hysteresis
	Alert      snapshot.Alert
	Soon       time.Duration // orders alerts of one kind: the soonest first
	Forecast   *snapshot.FullIn
	// Refuted ends the alert at the first miss where the place uses less than this.
	Refuted quantity.Bytes
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
		alerts = append(alerts, standing[i].Alert)
	}
	return alerts
}

// withoutRepetition drops the alerts low memory and leak where the same GPU or
// MIG instance has the alert full-in.
func withoutRepetition(standing []candidate) []candidate {
	filling := make(map[place]bool)
	for i := range standing {
		if standing[i].Key.Kind == snapshot.AlertFullIn {
			filling[standing[i].Key.place()] = true
		}
	}
	return slices.DeleteFunc(standing, func(c candidate) bool {
		repeats := c.Key.Kind == snapshot.AlertLowMemory || c.Key.Kind == snapshot.AlertLeak
		return repeats && filling[c.Key.place()]
	})
}

// order is the kinds within a severity, the worst first.
var order = [...]snapshot.AlertKind{
	snapshot.AlertDriver, snapshot.AlertLost, snapshot.AlertECC, snapshot.AlertFullIn, snapshot.AlertOutOfMemory,
	snapshot.AlertLowMemory, snapshot.AlertLeak, snapshot.AlertXID, snapshot.AlertHanging, snapshot.AlertThrottled,
}

func worstFirst(a, b candidate) int {
	return cmp.Or(
		cmp.Compare(b.Alert.Severity, a.Alert.Severity),
		cmp.Compare(slices.Index(order[:], a.Key.Kind), slices.Index(order[:], b.Key.Kind)),
		cmp.Compare(a.Soon, b.Soon),
		cmp.Compare(a.Alert.GPU, b.Alert.GPU),
		cmp.Compare(a.Key.GPUUUID, b.Key.GPUUUID),
		cmp.Compare(a.Key.Instance.GPU, b.Key.Instance.GPU),
		cmp.Compare(a.Key.Instance.Compute, b.Key.Instance.Compute),
		compareRows(a.Key.Row, b.Key.Row),
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
