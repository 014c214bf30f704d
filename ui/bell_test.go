package ui

import (
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

func TestBellRingsOnceForEachNewAlarm(t *testing.T) {
	full := snapshot.Alert{Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPUUUID: "GPU-3"}
	memory := snapshot.Alert{Kind: snapshot.AlertOutOfMemory, Severity: snapshot.Urgent, GPUUUID: "GPU-4"}
	lost := snapshot.Alert{Kind: snapshot.AlertLost, Severity: snapshot.Notice, GPUUUID: "GPU-6"}
	var b bell
	now := noon()
	for i, step := range []struct {
		after  time.Duration
		alerts []snapshot.Alert
		rings  bool
	}{
		{0, []snapshot.Alert{memory}, false}, // on the first screen
		{time.Second, []snapshot.Alert{memory, lost}, false},
		{time.Second, []snapshot.Alert{memory, full, lost}, true},
		{time.Second, []snapshot.Alert{full, memory}, false},    // it stands on
		{time.Second, nil, false},                               // cleared
		{time.Second, []snapshot.Alert{full}, false},            // again, within a minute
		{time.Second, nil, false},                               //
		{2 * time.Minute, []snapshot.Alert{full, memory}, true}, // two at once: one bell
	} {
		now = now.Add(step.after)
		if got := b.ring(step.alerts, now); got != step.rings {
			t.Errorf("step %d: rings %v", i, got)
		}
	}
}
