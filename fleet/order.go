package fleet

import (
	"cmp"
	"math"
	"slices"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
)

// By default the worst class comes first, then the fullest line. Lines must not jump: a line keeps
// its place until its figure has moved by a step.

// class ranks a line by its problem, from 0: out of memory, full soon, lost, idle with memory held,
// other alerts; then boxes that have not answered yet, and the rest. A full GPU alone is no problem.
func (l *Line) class() int {
	switch {
	case l.Alert == snapshot.AlertOutOfMemory:
		return 0
	case l.Alert == snapshot.AlertFullIn:
		return 1
	case l.State == Down || l.State == Stopped || l.GPU.State != "" && l.GPU.State != snapshot.GPUOK || slices.Contains(lost, l.Alert):
		return 2
	case l.Idle.Or(0) > 0:
		return 3
	case l.Alert != "":
		return 4
	case l.State == Asking:
		return 5
	}
	return 6
}

// lost are the alerts about a GPU or box that does not answer, or has ECC errors.
var lost = []snapshot.AlertKind{snapshot.AlertLost, snapshot.AlertDriver, snapshot.AlertHanging, snapshot.AlertECC}

// alertOrder lists the kinds of alerts, worst first.
var alertOrder = slices.Concat([]snapshot.AlertKind{snapshot.AlertOutOfMemory, snapshot.AlertFullIn}, lost,
	[]snapshot.AlertKind{snapshot.AlertLeak, snapshot.AlertXID, snapshot.AlertThrottled, snapshot.AlertLowMemory})

func alertRank(kind snapshot.AlertKind) int {
	if i := slices.Index(alertOrder, kind); i >= 0 {
		return i
	}
	return len(alertOrder)
}

// figure returns the sort key of a line, NaN if unknown. The greatest comes first.
func (l *Line) figure(by Sort) float64 {
	switch by {
	case ByFree:
		return orNaN(l.GPU.Memory.Free)
	case ByCached:
		return orNaN(l.GPU.Parts.Returnable)
	case ByUtilization:
		return orNaN(l.GPU.Utilization)
	case ByWorst:
		if full := l.GPU.FullIn; full != nil && l.Alert == snapshot.AlertFullIn {
			return -full.Median.Seconds()
		}
	}
	if l.Box == "" { // a user or a job; others may use the same GPUs
		return orNaN(l.GPU.Memory.Used)
	}
	if v, ok := l.Used(); ok {
		return v
	}
	return math.NaN()
}

func orNaN[T ~int | ~int64](o quantity.Optional[T]) float64 {
	if v, ok := o.Value(); ok {
		return float64(v)
	}
	return math.NaN()
}

// step returns how far a figure must change before its line moves.
func (l *Line) step(by Sort) float64 {
	if l.Box == "" && by != ByUtilization {
		return .05 * float64(l.GPU.Memory.Used.Or(0))
	}
	switch by {
	case ByFree, ByCached:
		return .05 * float64(l.GPU.Memory.Total.Or(0))
	case ByUtilization:
		return 10
	case ByWorst:
		if l.Alert == snapshot.AlertFullIn {
			return 60 // in seconds
		}
	}
	return .05
}

// Order sorts lines without regard to their earlier places.
func Order(lines []Line, by Sort) { (&order{}).sort(lines, by) }

// order sorts lines, and remembers their places.
type order struct {
	by     Sort
	placed map[string]float64 // the figures that gave the lines their places
}

func (o *order) sort(lines []Line, by Sort) {
	if o.by != by {
		o.by, o.placed = by, nil
	}
	placed := make(map[string]float64, len(lines))
	for i := range lines {
		l := &lines[i]
		now := l.figure(by)
		if was, ok := o.placed[l.Key()]; ok && math.Abs(now-was) < l.step(by) {
			now = was
		}
		placed[l.Key()] = now
	}
	o.placed = placed
	sorted.Stable(lines, func(a, b Line) int {
		if by == ByWorst {
			d := cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(alertRank(a.Alert), alertRank(b.Alert)))
			if d == 0 && a.Alert != snapshot.AlertFullIn {
				d = cmp.Compare(b.Idle.Or(0), a.Idle.Or(0))
			}
			if d != 0 {
				return d
			}
		}
		// cmp.Compare puts NaN first, so unknown comes last.
		return cmp.Or(cmp.Compare(placed[b.Key()], placed[a.Key()]), cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Box, b.Box),
			cmp.Compare(a.GPU.Index, b.GPU.Index), cmp.Compare(a.GPU.UUID, b.GPU.UUID))
	})
}
