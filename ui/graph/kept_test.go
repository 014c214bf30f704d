package graph

import (
	"math"
	"slices"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/ui/uitest"
)

// counted counts the columns that are asked for.
type counted struct {
	snapshot.History
	columns int
}

func (c *counted) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	c.columns += buckets
	return c.History.Series(key, from, to, buckets)
}

// TestKeptColumnsAreThoseOfTheHistory: over time, in windows whose columns are narrower and
// wider than an interval, columns that are kept are those that would be read, and few are read.
func TestKeptColumnsAreThoseOfTheHistory(t *testing.T) {
	for _, window := range []time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute, 7*time.Minute + 13*time.Second} {
		g := leakGraph(nil, time.Hour, false)
		g.Window, g.Stacks = window, &Stacks{}
		const columns, frames = 141, 120
		read := 0
		for frame := range frames {
			g.At = uitest.DrawnAt.Add(time.Duration(frame) * 730 * time.Millisecond)
			// The newest sample comes up to a second after the frame.
			newest := g.At.Add(-time.Duration(frame%3) * 450 * time.Millisecond).Truncate(time.Second)
			noise := func(age time.Duration) float64 { return float64(newest.Add(-age).Unix() * 7919 % 101) }
			history := &counted{History: uitest.CurveHistory{Curve: noise, Now: newest, Every: time.Second, Since: time.Hour}}
			g.History = history
			got := g.past(columns)
			read += history.columns
			alone := g
			alone.Stacks = nil
			if want := alone.past(columns); !slices.EqualFunc(got, want, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
				t.Fatalf("window %v, frame %d: %v, want %v", window, frame, got, want)
			}
		}
		if read > frames*columns/3 {
			t.Errorf("window %v: %d of %d columns are read", window, read, frames*columns)
		}
	}
}

// A past that comes late, as a recording's does, is soon shown, and one that is shown
// while nothing runs is read.
func TestKeptColumnsAreReadAgain(t *testing.T) {
	g := leakGraph(nil, time.Hour, false)
	g.Window, g.Stacks, g.Subject.Key = 10*time.Minute, &Stacks{}, snapshot.SeriesKey{GPUUUID: "GPU-3"}
	known := func(after time.Duration, since time.Duration) int {
		g.At = uitest.DrawnAt.Add(after)
		g.History = uitest.CurveHistory{Curve: uitest.Leak, Now: g.At, Every: time.Second, Since: since}
		n := 0
		for _, v := range g.past(141) {
			if !math.IsNaN(v) {
				n++
			}
		}
		return n
	}
	if n := known(0, time.Minute); n > 20 {
		t.Fatalf("%d columns of a minute are known", n)
	}
	if n := known(keptFor, time.Hour); n != 141 {
		t.Errorf("%d columns are known after %v", n, keptFor)
	}
	g.Running = false
	if n := known(keptFor+time.Second, time.Minute); n > 20 {
		t.Errorf("%d columns of a screen that stands", n)
	}
}

// TestColumnsOfEndedRowsAreForgotten: a GPU on which a process begins each second.
func TestColumnsOfEndedRowsAreForgotten(t *testing.T) {
	g := leakGraph(nil, time.Hour, false)
	g.Window, g.Stacks = 10*time.Minute, &Stacks{}
	for second := range 100 {
		g.At = uitest.DrawnAt.Add(time.Duration(second) * time.Second)
		g.Subject.Rows = []snapshot.RowID{{Process: process.Identity{PID: 1000 + second}, GPUUUID: "GPU-3"}}
		g.stack(g.past(141), 141)
	}
	if n, limit := len(g.Stacks.kept), 1+5*11; n > limit {
		t.Errorf("columns of %d series are kept, want at most %d", n, limit)
	}
}
