package graph

import (
	"math"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/ui/uitest"
)

// A past that comes late, as a recording's does, is shown with the next sample, and at once
// while nothing runs.
func TestLatePastIsShown(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), time.Hour, false)
	g.Window, g.Stacks, g.Subject.Key = 10*time.Minute, &Stacks{}, snapshot.SeriesKey{GPUUUID: "GPU-3"}
	known := func(after time.Duration, since time.Duration) int {
		g.At = uitest.DrawnAt.Add(after)
		g.History = uitest.CurveHistory{Curve: uitest.Leak, Now: g.At, Every: time.Second, Since: since}
		n := 0
		for _, v := range g.past(141).history {
			if !math.IsNaN(v) {
				n++
			}
		}
		return n
	}
	if n := known(0, time.Minute); n > 20 {
		t.Fatalf("%d columns of a minute are known", n)
	}
	if n := known(time.Second, time.Hour); n != 141 {
		t.Errorf("%d columns are known a second later", n)
	}
	g.Running = false
	if n := known(time.Second, time.Minute); n > 20 {
		t.Errorf("%d columns of a screen that stands", n)
	}
	if n := known(time.Second, time.Hour); n != 141 {
		t.Errorf("%d columns of a screen that stands, later", n)
	}
}
