package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/action/flush"
	"vramscope/guard"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// A decision that is not a flush is an event and a line of the audit log. A decision to act is
// neither: its flush logs itself, and its outcome is the event.
func TestDecisionsAreNotedAndLogged(t *testing.T) {
	directory := t.TempDir()
	var events []snapshot.Event
	r := New(guard.New(guard.Policy{}, guard.Owner{}))
	r.Log, r.Note = &action.Log{Directory: directory}, func(e snapshot.Event) { events = append(events, e) }
	r.Failed = func(err error) { t.Error(err) }
	expected := quantity.From(9*gib, quantity.Probe)
	row := snapshot.RowID{Process: process.Identity{PID: 7, StartTime: 9}, GPUUUID: uuid}
	r.publish(nil, []guard.Decision{
		{Kind: snapshot.GuardActs, Rule: "room", Row: row},
		{Kind: snapshot.GuardWould, Rule: "room", GPUUUID: uuid, Row: row, Expected: expected, Reason: "low", Message: "would flush PID 7"},
		{Kind: snapshot.GuardFlushed, Rule: "room", GPUUUID: uuid, Row: row, Measured: expected},
	})
	if len(events) != 2 || events[0].Kind != snapshot.EventGuard || events[0].Bytes.Or(0) != 9*gib || events[0].Decision.Rule != "room" ||
		events[0].Message != "guard: would flush PID 7" || events[1].Kind != snapshot.EventFlush {
		t.Errorf("%+v", events)
	}
	log, err := os.ReadFile(filepath.Join(directory, action.LogName))
	if err != nil || strings.Count(string(log), "\n") != 1 {
		t.Fatalf("%s, %v", log, err)
	}
	for _, want := range []string{`"action":"guard"`, `"outcome":"would"`, `"by":"policy"`, `"why":"room"`, `"pid":7`, `"expected_bytes":9663676416`, `"reason":"low"`} {
		if !strings.Contains(string(log), want) {
			t.Errorf("%s lacks %s", log, want)
		}
	}
}

// refusing is a flusher that flushes nothing.
type refusing struct{ asked flush.Request }

func (f *refusing) Run(_ context.Context, r flush.Request) (flush.Result, error) {
	f.asked = r
	return flush.Result{}, errors.Join(&process.Refusal{Reason: "PID 7 is another process now"})
}

// Carry requests the flush that was decided: identity, level, device, and the rule as its origin.
func TestCarryAsksForWhatWasDecided(t *testing.T) {
	f := &refusing{}
	r := New(guard.New(guard.Policy{}, guard.Owner{}))
	r.Flusher = f
	id := process.Identity{PID: 7, StartTime: 9, Namespace: 3}
	o := r.Carry(context.Background(), guard.Decision{Kind: snapshot.GuardActs, Rule: "room", Level: "selective", Row: snapshot.RowID{Process: id, GPUUUID: uuid}, Reason: "low"}, "MIG-1")
	if o.Refused != "PID 7 is another process now" || o.Driver.Known() {
		t.Errorf("%+v", o)
	}
	if a := f.asked; a.Process != id || a.Level != flush.Selective || len(a.Devices) != 1 || a.Devices[0] != "MIG-1" || a.DryRun || a.Origin != action.Policy("room") || a.Reason != "low" {
		t.Errorf("%+v", a)
	}
}

// A pause ends even if the newest snapshot is older than the request.
func TestPauseIsEnded(t *testing.T) {
	r := New(guard.New(guard.Policy{Mode: guard.Act}, guard.Owner{}))
	r.Observe(&snapshot.Snapshot{Time: time.Now().Add(-time.Second)})
	r.Pause(time.Now().Add(time.Hour))
	if g := r.Pause(time.Now()); !g.Paused.IsZero() || g.Decisions[0].Kind != snapshot.GuardResumed {
		t.Errorf("%+v", g)
	}
}
