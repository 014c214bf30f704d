package monitor

import (
	"context"
	"strings"
	"testing"

	"vramscope/action"
	"vramscope/action/flush"
	"vramscope/cli/config"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

func TestFlushOfTheDemoIsAnEvent(t *testing.T) {
	src, sampling := demo(t, config.Defaults())
	var target snapshot.Process
	for _, p := range sampling.Latest().Rows {
		if p.User == "carol" && p.Returnable.Or(0) > 0 {
			target = p
		}
	}
	if target.ID.Process.PID == 0 {
		t.Fatal("carol has nothing cached")
	}
	f := src.Flusher(func(context.Context) *snapshot.Snapshot { return sampling.Tick(src.Options.Clock()) })
	var event snapshot.Event
	f.Note = func(e snapshot.Event) { event = e }
	request := flush.Request{Process: target.ID.Process, Level: flush.Gradual, Devices: []string{target.ID.GPUUUID}, Origin: action.Key("F")}
	result, err := f.Run(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if freed := result.Freed(); freed < target.Returnable.Or(0) || result.DriverFreed().Or(0) != freed {
		t.Errorf("%s returnable, freed %s, by the driver %s", target.Returnable.Or(0), freed, result.DriverFreed().Or(0))
	}
	if event.Kind != snapshot.EventFlush || event.User != "carol" || event.Row != target.ID || event.Name != "finetune.py" ||
		!strings.HasPrefix(event.Message, "flushed: ") || event.Bytes.Or(0) != result.Freed() {
		t.Errorf("the event is %+v", event)
	}
	// The screen has the new stats at once, not when the probe is asked next.
	for _, p := range sampling.Latest().Rows {
		if p.ID == target.ID && (p.Returnable.Or(1) != 0 || p.Other.Or(-1) < 0) {
			t.Errorf("after the flush %s is returnable, other %s", p.Returnable.Or(-1), p.Other.Or(0))
		}
	}
	request.Process = process.Identity{PID: target.ID.Process.PID, StartTime: 1}
	if _, err := f.Run(t.Context(), request); err == nil || !strings.Contains(err.Error(), "is another process now") {
		t.Errorf("another process with that pid: %v", err)
	}
}
