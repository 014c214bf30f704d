package ui

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/ui/dialog"
	"vramscope/ui/uitest"
)

// TestEventsSayWhatTheColumnsDoNot: an alarm's sentence names its GPU and its
// process for the alert line; in the log the columns do, and the words that
// are left have room.
func TestEventsSayWhatTheColumnsDoNot(t *testing.T) {
	row := snapshot.RowID{Process: process.Identity{PID: 2701455, StartTime: 1}}
	leak := snapshot.Event{Time: uitest.DrawnAt, Kind: snapshot.EventAlarm, GPU: 4, GPUUUID: "GPU-4", Row: row, User: "dave", Name: "dlrm.py"}
	for message, want := range map[string]string{
		"GPU 4, PID 2701455 dave leaks 1M/s": "dlrm.py: leaks 1M/s",
		"GPU 4 full in 14m (6m–14m)":         "dlrm.py: full in 14m (6m–14m)",
		"GPU 4:1 full in 14m":                "dlrm.py: GPU 4:1 full in 14m",
		"GPU 41 is none of this":             "dlrm.py: GPU 41 is none of this",
	} {
		leak.Message = message
		e := dialog.NewEvents(uitest.Appearance(t, "", false), &dialog.Scene{Now: uitest.DrawnAt, History: uitest.CurveHistory{Log: []snapshot.Event{leak}}})
		if text := rendered(e, 120, 6); !strings.Contains(text, "dave       "+want+" ") {
			t.Errorf("%q is\n%s", message, text)
		}
	}
}

// TestEventsScrollSideways: what is cut off at the right can be read, no
// further, and the box says how.
func TestEventsScrollSideways(t *testing.T) {
	end := "driver says -11.7G  ok"
	var o dialog.Overlay = dialog.NewEvents(uitest.Appearance(t, "", false), &dialog.Scene{Now: uitest.DrawnAt, History: uitest.CurveHistory{Log: []snapshot.Event{
		{Time: uitest.DrawnAt, Kind: snapshot.EventFlush, GPU: 3, GPUUUID: "GPU-3", User: "carol", Name: "finetune.py",
			Message: "flushed: 70.6G to 58.9G, freed 11.7G in 84 ms; " + end},
		{Time: uitest.DrawnAt.Add(-time.Minute), Kind: snapshot.EventDriverBack, Message: "short"},
	}}})
	if text := rendered(o, 80, 8); strings.Contains(text, end) || !strings.Contains(text, "← → more, Esc closes ┐") {
		t.Errorf("at first\n%s", text)
	}
	for range 20 {
		o, _ = o.Press("right", 80, 8)
	}
	if text := rendered(o, 80, 8); !strings.Contains(text, end+"│") {
		t.Errorf("at the right\n%s", text)
	}
	for range 20 {
		o, _ = o.Press("left", 80, 8)
	}
	if text := rendered(o, 80, 8); !strings.Contains(text, "  finetune.py: flushed") {
		t.Errorf("at the left again\n%s", text)
	}
	if text := rendered(o, 120, 8); strings.Contains(text, "more") || !strings.Contains(text, end) {
		t.Errorf("where all of it has room\n%s", text)
	}
}
