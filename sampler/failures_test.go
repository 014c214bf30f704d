package sampler

import (
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// oomEvents are the out-of-memory events, the newest first.
func oomEvents(s *Sampler) (found []snapshot.Event) {
	for _, e := range s.history.Events(0) {
		if e.Kind == snapshot.EventOutOfMemory {
			found = append(found, e)
		}
	}
	return found
}

func failedAt(t time.Time, n quantity.Bytes, api string) probe.FailedAllocation {
	free := 3 * quantity.GiB
	return probe.FailedAllocation{TimeNS: t.UnixNano(), Bytes: n, FreeBytes: &free, Allocator: "pytorch", API: api}
}

func TestReportedFailuresAreEvents(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	s := &Sampler{history: newHistory(), rows: map[snapshot.RowID]*row{}, failures: map[snapshot.RowID]*failures{}, began: began}
	p := &snapshot.Process{
		ID: snapshot.RowID{Process: process.Identity{PID: 7}, GPUUUID: "GPU-1"}, Name: "train",
		Allocators: []snapshot.Allocator{{Kind: "pytorch", Config: "expandable_segments:True"}},
	}
	d := &probe.Device{UUID: "GPU-1", OutOfMemory: []probe.FailedAllocation{
		failedAt(began.Add(-time.Second), 9*quantity.GiB, ""), // before this monitor
		failedAt(began.Add(time.Second), 4*quantity.GiB, "cuMemAlloc"),
		failedAt(began.Add(2*time.Second), 4*quantity.GiB, ""),
	}}
	now := began.Add(3 * time.Second)
	s.noteFailures(now, p.ID, p, d)
	s.noteFailures(now, p.ID, p, d) // the same report again
	events := oomEvents(s)
	if len(events) != 1 {
		t.Fatalf("%d events: %+v", len(events), events)
	}
	e := events[0]
	if e.Message != "out of memory: asked for 4.00G, 3.00G free" || !e.Time.Equal(began.Add(2*time.Second)) || e.OutOfMemory == nil ||
		e.OutOfMemory.Config != "expandable_segments:True" || e.OutOfMemory.Requested.Or(0) != 4*quantity.GiB || e.OutOfMemory.Limit.Known() {
		t.Errorf("event %+v, %+v", e, e.OutOfMemory)
	}
	s.noteRise(now, p, 1) // the count of that error
	if n := len(oomEvents(s)); n != 1 {
		t.Errorf("%d events for one error", n)
	}
	s.noteRise(now, p, 2) // of which only the refused call was reported
	if events = oomEvents(s); len(events) != 2 || events[0].OutOfMemory == nil || events[0].OutOfMemory.API != "cuMemAlloc" {
		t.Errorf("events %+v", events)
	}
	s.noteRise(now, p, 3)
	if events = oomEvents(s); len(events) != 3 || events[0].OutOfMemory != nil || events[0].Message != "out of memory x3 (allocator)" {
		t.Errorf("events %+v", events)
	}
}

func TestFailureOfAnEndedProcessIsAnEvent(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	id := snapshot.RowID{Process: process.Identity{PID: 7}, GPUUUID: "GPU-1"}
	s := &Sampler{history: newHistory(), failures: map[snapshot.RowID]*failures{}, began: began}
	d := &probe.Device{UUID: "GPU-1", OutOfMemory: []probe.FailedAllocation{failedAt(began.Add(time.Hour), 4*quantity.GiB, "")}}
	s.noteFailures(began, id, s.lastOf(id), d)
	if n := len(oomEvents(s)); n != 0 {
		t.Errorf("%d events of a process that was never seen", n)
	}
	s.ended = []snapshot.EndedProcess{{Last: snapshot.Process{ID: id, Name: "train"}}}
	s.noteFailures(began, id, s.lastOf(id), d)
	events := oomEvents(s)
	if len(events) != 1 || events[0].Name != "train" || events[0].Time.After(began) {
		t.Errorf("events %+v", events)
	}
	s.forgetFailures(nil)
	if len(s.failures) != 0 {
		t.Error("the failures of a process without a probe are kept")
	}
}
