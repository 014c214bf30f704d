package sampler

import (
	"testing"
	"time"

	"vramscope/probe"
)

// TestReportsFromBeforeTheDriversReadingsAreNotRejected: a process has emptied its
// cache after its probe read it, and before a command that samples once came.
func TestReportsFromBeforeTheDriversReadingsAreNotRejected(t *testing.T) {
	r, now := &reports{}, time.Now()
	old := report{device: &probe.Device{}, at: now.Add(-time.Second), held: 14 * gib}
	for range recentReadings - 1 {
		if shown, why := r.take(now, old, bound{limit: 13 * gib, of: "driver", at: now}, 80*gib); shown.device != nil || why != "" {
			t.Fatalf("shown is %+v, rejected %q; want neither", shown, why)
		}
		now = now.Add(20 * time.Millisecond)
	}
	fresh := report{device: &probe.Device{}, at: now, held: 12 * gib}
	if shown, why := r.take(now, fresh, bound{limit: 13 * gib, of: "driver", at: now}, 80*gib); !shown.same(&fresh) || why != "" {
		t.Errorf("shown is %+v, rejected %q; want the fresh report", shown, why)
	}
}
