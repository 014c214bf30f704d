package graph

import (
	"strings"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/ui/uitest"
)

// TestLatePastIsShown: a recording that is read late is shown with the next snapshot, or at once on a frozen screen.
func TestLatePastIsShown(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), time.Hour, false)
	g.Window, g.Stacks, g.Snapshot = 10*time.Minute, &Stacks{}, &snapshot.Snapshot{}
	drawn := func(since time.Duration) string {
		g.History = uitest.CurveHistory{Curve: uitest.Leak, Now: g.At, Every: time.Second, Since: since}
		return strings.Join(g.Render(80, 12), "\n")
	}
	short := drawn(time.Minute)
	if drawn(time.Hour) != short {
		t.Error("two frames of one snapshot have two graphs")
	}
	g.Lines = true
	if drawn(time.Hour) == short {
		t.Error("another graph is not drawn")
	}
	g.Lines, g.Snapshot = false, &snapshot.Snapshot{Sequence: 1}
	if drawn(time.Hour) == short {
		t.Error("the past is not shown with the next snapshot")
	}
	g.Running = false
	if drawn(time.Minute) == drawn(time.Hour) {
		t.Error("a screen that stands shows what was kept")
	}
}
