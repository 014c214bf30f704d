package fleet

import (
	"cmp"
	"math"
	"slices"

	"vramscope/sampler/snapshot"
)

// The order of the lines, worst first: what must be acted on now, then what does not
// answer, then other alerts, then the fullest. Lines must not jump: a line keeps the
// place that its figure gave it until the figure has moved by a step.

// class is how bad a line is, from 0.
func (l *Line) class() int {
	switch {
	case l.Alert != "" && l.Severity == snapshot.Urgent:
		return 0
	case l.State == Down:
		return 1
	case l.State == Stopped:
		return 2
	case l.GPU.State != "" && l.GPU.State != snapshot.GPUOK:
		return 3
	case l.Alert != "":
		return 4
	case l.State == Asking:
		return 5
	}
	return 6
}

// alertOrder is the worst first, as in the notes of the monitor's GPU lines.
var alertOrder = []snapshot.AlertKind{
	snapshot.AlertLost, snapshot.AlertECC, snapshot.AlertFullIn, snapshot.AlertOutOfMemory, snapshot.AlertLowMemory,
	snapshot.AlertLeak, snapshot.AlertXID, snapshot.AlertHanging, snapshot.AlertThrottled, snapshot.AlertDriver,
}

func alertRank(kind snapshot.AlertKind) int {
	if i := slices.Index(alertOrder, kind); i >= 0 {
		return i
	}
	return len(alertOrder)
}

// figure is what a line is sorted by in an order, the greater the further up; NaN where
// that is unknown.
func (l *Line) figure(by Sort) float64 {
	known := func(b snapshot.Bytes) float64 {
		if v, ok := b.Value(); ok {
			return float64(v)
		}
		return math.NaN()
	}
	switch by {
	case ByFree:
		return known(l.GPU.Memory.Free)
	case ByCached:
		return known(l.GPU.Parts.Returnable)
	case ByUtilization:
		if v, ok := l.GPU.Utilization.Value(); ok {
			return float64(v)
		}
		return math.NaN()
	case ByWorst:
		if full := l.GPU.FullIn; full != nil && l.Alert == snapshot.AlertFullIn {
			return -full.Median.Seconds()
		}
	}
	if v, ok := l.Used(); ok {
		return v
	}
	return math.NaN()
}

// step is how far a figure moves before its line does.
func (l *Line) step(by Sort) float64 {
	switch by {
	case ByFree, ByCached:
		return .05 * float64(l.GPU.Memory.Total.Or(0))
	case ByUtilization:
		return 10
	case ByWorst:
		if l.Alert == snapshot.AlertFullIn {
			return 60 // of seconds
		}
	}
	return .05
}

// Order sorts lines that are shown once.
func Order(lines []Line, by Sort) { (&order{}).sort(lines, by) }

// order sorts lines, and remembers where they stood.
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
		if was, ok := o.placed[l.key()]; ok && math.Abs(now-was) < l.step(by) {
			now = was
		}
		placed[l.key()] = now
	}
	o.placed = placed
	slices.SortStableFunc(lines, func(a, b Line) int {
		if by == ByWorst {
			if d := cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(alertRank(a.Alert), alertRank(b.Alert))); d != 0 {
				return d
			}
		}
		// cmp.Compare has NaN first: unknown comes last.
		return cmp.Or(cmp.Compare(placed[b.key()], placed[a.key()]), cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Box, b.Box),
			cmp.Compare(a.GPU.Index, b.GPU.Index), cmp.Compare(a.GPU.UUID, b.GPU.UUID))
	})
}
