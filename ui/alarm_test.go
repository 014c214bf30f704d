package ui

import (
	"bytes"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

func TestBellRingsOnceForEachNewAlarm(t *testing.T) {
	full := snapshot.Alert{Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPUUUID: "GPU-3"}
	memory := snapshot.Alert{Kind: snapshot.AlertOutOfMemory, Severity: snapshot.Urgent, GPUUUID: "GPU-4"}
	lost := snapshot.Alert{Kind: snapshot.AlertLost, Severity: snapshot.Notice, GPUUUID: "GPU-6"}
	slice := full
	slice.Instance = snapshot.InstanceID{MIG: true, GPU: 1}
	var b bell
	now := noon()
	for i, step := range []struct {
		after  time.Duration
		alerts []snapshot.Alert
		rings  bool
	}{
		{0, []snapshot.Alert{memory}, false}, // the first snapshot never rings
		{time.Second, []snapshot.Alert{memory, lost}, false},
		{time.Second, []snapshot.Alert{memory, full, lost}, true},
		{time.Second, []snapshot.Alert{full, memory}, false},    // full stays
		{time.Second, nil, false},                               // cleared
		{time.Second, []snapshot.Alert{full}, false},            // again, within a minute
		{time.Second, nil, false},                               // cleared again
		{2 * time.Minute, []snapshot.Alert{full, memory}, true}, // two at once: one bell
		{2 * time.Minute, []snapshot.Alert{full, slice}, true},  // the alert of a MIG instance is a new one
	} {
		now = now.Add(step.after)
		if got := b.ring(step.alerts, now); got != step.rings {
			t.Errorf("step %d: rings %v", i, got)
		}
	}
}

func TestTitle(t *testing.T) {
	box := smallBox(4, 1, 0)
	if got := titleOf(nil); got != "vramscope" {
		t.Errorf("before the first snapshot: %q", got)
	}
	if got := titleOf(box); got != "vramscope h100-03" {
		t.Errorf("at rest: %q", got)
	}
	box.Alerts = []snapshot.Alert{
		{Kind: snapshot.AlertLost, Severity: snapshot.Notice, GPU: 2, GPUUUID: "GPU-2"},
		{Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPU: 3, GPUUUID: box.GPUs[3].UUID},
	}
	box.GPUs[3].FullIn = &snapshot.FullIn{Median: 250 * time.Second}
	if got := titleOf(box); got != "vramscope h100-03 ! 3 full 4m" {
		t.Errorf("in alarm: %q", got)
	}
	box.Host.Name = "evil\x07\x1b]0;owned"
	if got := titleOf(box); bytes.ContainsAny([]byte(got), "\x07\x1b") {
		t.Errorf("a hostile host name: %q", got)
	}
}
