package sampler

import (
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

func TestClearedAlertsSayWhatNoLongerHolds(t *testing.T) {
	for kind, want := range map[snapshot.AlertKind]string{
		snapshot.AlertFullIn: "no longer filling up (25s)", snapshot.AlertLeak: "no longer leaking (25s)",
		snapshot.AlertLowMemory: "no longer low on memory (25s)", snapshot.AlertThrottled: "no longer throttled (25s)",
		snapshot.AlertECC: "no new ECC errors (25s)", "new_rule": "cleared: new rule (25s)",
	} {
		if got := cleared(start.Add(25*time.Second), &snapshot.Alert{Kind: kind, Since: start}); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

func TestClearedAlertNamesItsEndedProcess(t *testing.T) {
	row := snapshot.RowID{Process: process.Identity{PID: 7, StartTime: 3}, GPUUUID: "GPU-3"}
	ended := snapshot.Process{ID: row, User: "carol", Command: []string{"python3", "finetune.py"}, Name: "python3"}
	other := snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: 7, StartTime: 4}, GPUUUID: "GPU-3"}, User: "dave"}
	snap := &snapshot.Snapshot{Ended: []snapshot.EndedProcess{{Last: other}, {Last: ended}, {Last: other}}}
	s := &Sampler{history: newHistory()}
	s.logAlert(snap, time.Now(), snapshot.EventCleared, &snapshot.Alert{Row: row}, "cleared")
	e := s.history.Events(0)[0]
	if e.User != "carol" || e.Name != "finetune.py" {
		t.Errorf("it is of %q by %q", e.Name, e.User)
	}
}

// TestRulesAreAppliedOnceASecond has a GPU that reports another critical error
// ten times a second.
func TestRulesAreAppliedOnceASecond(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	messages := map[string]bool{}
	for i := range 50 {
		r := b.readings["GPU-0"]
		r.XIDs = []nvml.XID{{Code: 500 + uint64(i), Time: b.now}}
		b.readings["GPU-0"] = r
		b.now = b.now.Add(100 * time.Millisecond)
		alerts := s.Tick(b.now).Alerts
		if len(alerts) != 1 || alerts[0].Kind != snapshot.AlertXID {
			t.Fatalf("tick %d: alerts %+v", i, alerts)
		}
		messages[alerts[0].Message] = true
	}
	if len(messages) < 5 || len(messages) > 6 {
		t.Errorf("%d alerts in five seconds, want one a second", len(messages))
	}
	if n := len(s.History().Events(0)); n != 49 {
		t.Errorf("%d events, want all but that of the first look: the log is not the alert line", n)
	}
}
