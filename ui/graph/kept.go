package graph

import (
	"maps"
	"math"
	"time"

	"vramscope/sampler/snapshot"
)

// kept is the columns of a series that were read for an earlier frame. While time runs only
// the newest columns change, and a GPU with eight processes with probes has forty series.
type kept struct {
	each   time.Duration // the width of a column
	end    time.Time     // of the last column
	whole  time.Time     // when all columns were read
	values []float64     // NaN is unknown
}

// keptKey is a series and what its columns show.
type keptKey struct {
	snapshot.SeriesKey
	extreme extreme
}

// keptFor is how long kept columns stay. After that, samples that came late are shown.
const keptFor = 10 * time.Second

// fresh reports whether the kept columns may still be used.
func (k *kept) fresh(at time.Time) bool { return at.Sub(k.whole).Abs() < keptFor }

// recall fills in the oldest columns of a series, as far as they cannot have changed since an
// earlier frame, and returns their number.
func (g Graph) recall(key keptKey, each time.Duration, end time.Time, values []float64) int {
	if g.Stacks == nil || !g.Running {
		return 0
	}
	k := g.Stacks.kept[key]
	if k == nil || k.each != each || len(k.values) != len(values) || end.Before(k.end) || !k.fresh(g.At) {
		return 0
	}
	// The last column was not complete, nor were the columns whose samples came after the frame.
	changing := 1 + int(math.Ceil(float64(3*g.Interval)/float64(each)))
	shift := int(end.Sub(k.end) / each)
	known := max(len(values)-shift-changing, 0)
	copy(values[:known], k.values[shift:])
	return known
}

// keep keeps the columns of a series. recalled is how many of them were recalled.
func (g Graph) keep(key keptKey, each time.Duration, end time.Time, values []float64, recalled int) {
	if g.Stacks == nil || !g.Running {
		return
	}
	if g.Stacks.kept == nil || g.Stacks.subject != g.Subject.Key {
		g.Stacks.subject, g.Stacks.kept = g.Subject.Key, make(map[keptKey]*kept)
	}
	k := g.Stacks.kept[key]
	if k == nil {
		// Nobody reads those of rows that have ended.
		maps.DeleteFunc(g.Stacks.kept, func(_ keptKey, k *kept) bool { return !k.fresh(g.At) })
		k = new(kept)
		g.Stacks.kept[key] = k
	}
	if recalled == 0 {
		k.whole = g.At
	}
	k.each, k.end, k.values = each, end, append(k.values[:0], values...)
}
