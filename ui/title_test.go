package ui

import (
	"bytes"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

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
