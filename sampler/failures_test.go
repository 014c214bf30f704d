package sampler

import (
	"slices"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/history"
	"vramscope/sampler/snapshot"
)

// oomEvents returns the out-of-memory events, the newest first.
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
	return probe.FailedAllocation{TimeNS: t.UnixNano(), Bytes: n, Free: reported(free), Allocator: "pytorch", API: api}
}

// A limit in the environment applies only to a client of MPS, whose errors report the limit.
func TestLimitsOfMPSClients(t *testing.T) {
	b := newBox(2)
	for pid := range b.processes {
		known := b.processes[pid]
		known.Hints.MPSMemory, known.Hints.MPSThreads = "GPU-0=12G,GPU-1=12G", quantity.From(30.0, quantity.System)
		b.processes[pid] = known
	}
	b.readings["GPU-0"].Processes[0].Type |= nvml.MPS
	s := b.sampler()
	b.tick(s)
	b.answer(100, "GPU-0", 9*quantity.GiB, 0, 0, 0)
	b.answers[0].Report.Devices[0].OutOfMemory = []probe.FailedAllocation{failedAt(b.now.Add(time.Millisecond), 4*quantity.GiB, "")}
	snap := b.tick(s)
	client, other := &snap.Rows[0], &snap.Rows[1]
	if client.Type != "M+C" || client.MPSLimit.Or(0) != 12*quantity.GiB || client.MPSThreads.Or(0) != 30 {
		t.Errorf("%s, %v, %v", client.Type, client.MPSLimit, client.MPSThreads)
	}
	if other.MPSLimit.Known() || other.MPSThreads.Known() {
		t.Errorf("%s, %v, %v", other.Type, other.MPSLimit, other.MPSThreads)
	}
	if events := oomEvents(s); len(events) != 1 || events[0].OutOfMemory.MPSLimit.Or(0) != 12*quantity.GiB {
		t.Errorf("%+v", events)
	}
}

// On a box with two GPUs, a limit for GPU number 0 is unknown, even if --gpu leaves one GPU out: CUDA may
// number the GPUs in another order.
func TestNumberedLimit(t *testing.T) {
	for _, c := range []struct {
		gpus int
		only []string
		want quantity.Bytes
	}{{1, nil, 12 * quantity.GiB}, {2, nil, 0}, {2, []string{"0"}, 0}} {
		b := newBox(c.gpus)
		known := b.processes[100]
		known.Hints.MPSMemory = "0=12G"
		b.processes[100] = known
		b.readings["GPU-0"].Processes[0].Type |= nvml.MPS
		if limit := b.tick(b.sampler(func(o *Options) { o.Only = c.only })).Rows[0].MPSLimit; limit.Or(0) != c.want {
			t.Errorf("of %d GPUs, --gpu %v: %v", c.gpus, c.only, limit)
		}
	}
}

func TestReportedFailuresAreEvents(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	s := &Sampler{history: history.New(), rows: map[snapshot.RowID]*row{}, failures: map[snapshot.RowID]*failures{}, began: began}
	p := &snapshot.Process{
		ID: snapshot.RowID{Process: process.Identity{PID: 7}, GPUUUID: "GPU-1"}, Name: "train",
		Allocators: []snapshot.Allocator{{Kind: "pytorch", Config: "expandable_segments:True"}},
	}
	d := &probe.Device{UUID: "GPU-1", OutOfMemory: []probe.FailedAllocation{
		failedAt(began.Add(-time.Second), 9*quantity.GiB, ""), // before this monitor started
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
	s.noteRise(now, p, 2) // a second error, of which only the refused call was reported
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
	s := &Sampler{history: history.New(), failures: map[snapshot.RowID]*failures{}, began: began}
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
	s.forgetFailures(began.Add(time.Hour), nil)
	if len(s.failures) != 0 {
		t.Error("the failures of a process without a probe are kept")
	}
}

// An ended row counts an error that the program's last report lists but does not yet count.
func TestErrorInTheLastReportIsCountedInTheEndedRow(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	b.answer(100, "GPU-0", gib, gib, 0, gib)
	b.answers[0].Report.Devices[0].Allocators[0].OutOfMemoryCount = reported[int64](0)
	b.tick(s)
	b.answers[0].At = b.now
	b.answers[0].Report.Devices[0].OutOfMemory = []probe.FailedAllocation{failedAt(b.now.Add(time.Millisecond), 4*quantity.GiB, "")}
	b.tick(s)
	b.answers = nil
	r := b.readings["GPU-0"]
	r.Processes = nil
	b.readings["GPU-0"] = r
	delete(b.processes, 100)
	snap := b.tick(s)
	if len(snap.Ended) != 1 {
		t.Fatalf("ended: %+v", snap.Ended)
	}
	if g := snap.Ended[0]; g.OutOfMemoryCount.Or(0) != 1 || g.Last.Probe.OutOfMemoryCount.Or(0) != 1 {
		t.Errorf("out of memory %v, in the last figures %v, want 1", g.OutOfMemoryCount, g.Last.Probe.OutOfMemoryCount)
	}
	if !slices.ContainsFunc(snap.Alerts, func(a snapshot.Alert) bool { return a.Kind == snapshot.AlertOutOfMemory }) {
		t.Errorf("alerts: %+v", snap.Alerts)
	}
	if events := oomEvents(s); len(events) != 1 {
		t.Errorf("events: %+v", events)
	}
	b.now = b.now.Add(recordsFor + time.Second)
	if b.tick(s); len(s.failures) != 0 {
		t.Error("the failures of an ended process are kept")
	}
}

// An error in a program's first report is also in the first count, and is counted once.
func TestErrorInTheFirstReportIsCountedOnce(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	b.tick(s)
	b.answer(100, "GPU-0", gib, gib, 0, gib)
	device := &b.answers[0].Report.Devices[0]
	device.Allocators[0].OutOfMemoryCount = reported[int64](1)
	device.OutOfMemory = []probe.FailedAllocation{failedAt(b.now.Add(time.Millisecond), 4*quantity.GiB, "")}
	b.tick(s)
	b.answers = nil
	r := b.readings["GPU-0"]
	r.Processes = nil
	b.readings["GPU-0"] = r
	delete(b.processes, 100)
	snap := b.tick(s)
	if len(snap.Ended) != 1 || snap.Ended[0].OutOfMemoryCount.Or(0) != 1 {
		t.Errorf("ended: %+v, want one out-of-memory error", snap.Ended)
	}
	if events := oomEvents(s); len(events) != 1 {
		t.Errorf("events: %+v", events)
	}
}

// An error of a program that exited before it had a row is known from the record that its probe left.
func TestRecordOfAProgramThatWasNeverSeenIsAnEvent(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	now := began.Add(3 * time.Second)
	id := snapshot.RowID{Process: process.Identity{PID: 7, StartTime: 5}, GPUUUID: "GPU-1"}
	answer := func(uuid string, uid uint32) *probe.Answer {
		return &probe.Answer{
			Process: id.Process,
			Exited:  &process.Info{Identity: id.Process, User: "alice", UID: quantity.From(uid, quantity.Probe), Command: []string{"python3", "train.py"}},
			Report: probe.Report{Devices: []probe.Device{{
				UUID: uuid, OutOfMemory: []probe.FailedAllocation{failedAt(began.Add(time.Second), 4*quantity.GiB, "")},
			}}},
		}
	}
	s := &Sampler{
		history: history.New(), rows: map[snapshot.RowID]*row{}, failures: map[snapshot.RowID]*failures{}, began: began,
		driver: &driver{gpus: []*gpu{{device: nvml.Device{Index: 3, UUID: "GPU-1"}}}},
	}
	s.noteRecord(now, answer("GPU-2", 1000))
	if n := len(oomEvents(s)); n != 0 {
		t.Errorf("%d events on a GPU that only the record names", n)
	}
	s.noteRecord(now, answer("GPU-1", 1000))
	s.noteRecord(now, answer("GPU-1", 1000))
	events := oomEvents(s)
	if len(events) != 1 {
		t.Fatalf("%d events for one error", len(events))
	}
	if e := events[0]; e.Name != "train.py" || e.User != "alice" || e.GPU != 3 || e.Row != id || e.OutOfMemory.Requested.Or(0) != 4*quantity.GiB {
		t.Errorf("event %+v, %+v", e, e.OutOfMemory)
	}

	s.failures = map[snapshot.RowID]*failures{}
	s.ended = []snapshot.EndedProcess{{Last: snapshot.Process{ID: id, Name: "train", UID: quantity.From(uint32(1001), quantity.System)}}}
	s.noteRecord(now, answer("GPU-1", 1000))
	if n := len(oomEvents(s)); n != 1 {
		t.Error("one user's record is an event of another user's process")
	}
}
