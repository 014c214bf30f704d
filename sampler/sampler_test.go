package sampler

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

const gib = quantity.GiB

func TestProcessOnTwoGPUsHasTwoRows(t *testing.T) {
	b := newBox(2)
	r := b.readings["GPU-1"]
	r.Processes = append(r.Processes, nvml.Process{PID: 100, Type: nvml.Compute, Used: measured(gib)})
	b.readings["GPU-1"] = r
	snap := b.tick(b.sampler())

	var got []string
	for _, p := range snap.Rows {
		got = append(got, p.ID.GPUUUID+" "+p.Used.Or(0).String())
	}
	want := []string{"GPU-0 10.0G", "GPU-1 1.00G", "GPU-1 10.0G"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if n := snap.GPUs[1].ProcessCount.Or(-1); n != 2 {
		t.Errorf("GPU 1 counts %d processes, want 2", n)
	}
}

func TestPartsAddUpToUsed(t *testing.T) {
	b := newBox(1)
	b.answer(100, "GPU-0", 5*gib, 3*gib, gib, 2*gib)
	s := b.sampler()
	b.tick(s)
	b.answer(100, "GPU-0", 5*gib, 3*gib, gib, 2*gib)
	snap := b.tick(s)
	p := snap.Rows[0]
	if got := bytesOf(t, p.Other); got != gib {
		t.Errorf("other %v, want 1 GiB", got)
	}
	if got := bytesOf(t, p.Unreturnable()); got != 2*gib {
		t.Errorf("fragmented %v, want fragmented 1 + kept 1 GiB", got)
	}
	parts := snap.GPUs[0].Parts
	sum := bytesOf(t, quantity.Sum(parts.Other, parts.Unknown, parts.Allocated, parts.Fragmented, parts.Returnable))
	if used := bytesOf(t, snap.GPUs[0].Memory.Used); sum != used {
		t.Errorf("parts add up to %v of %v used", sum, used)
	}
	if !snap.ProbeSeen || p.Runtime != "PyTorch" {
		t.Errorf("probe seen %v, runtime %q", snap.ProbeSeen, p.Runtime)
	}
}

func TestUsedIsUnknownWithoutAProbe(t *testing.T) {
	b := newBox(1)
	snap := b.tick(b.sampler())
	parts := snap.GPUs[0].Parts
	if got := bytesOf(t, parts.Unknown); got != 10*gib {
		t.Errorf("unknown %v, want all 10 GiB", got)
	}
	if parts.Other.Known() || parts.Allocated.Known() || snap.Rows[0].Other.Known() {
		t.Errorf("parts without a probe: %+v", parts)
	}
}

func TestMismatchNeedsConfirmation(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	b.tick(s)
	for tick, want := range []bool{false, false, true, true} {
		b.now = b.now.Add(time.Second)
		b.answer(100, "GPU-0", 10*gib+128*mib, 0, 0, 0)
		snap := s.Tick(b.now)
		p := snap.Rows[0]
		if got := bytesOf(t, p.Other); got != -128*mib {
			t.Fatalf("other %v, want −128 MiB: a mismatch is shown, not clamped", got)
		}
		if p.Probe.Mismatch != want {
			t.Errorf("tick %d: mismatch %v, want %v", tick, p.Probe.Mismatch, want)
		}
	}
}

func TestSkewIsNoMismatch(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	for range 6 {
		b.answer(100, "GPU-0", 10*gib+128*mib, 0, 0, 0) // a second older than the driver's reading
		if snap := b.tick(s); snap.Rows[0].Probe.Mismatch {
			t.Fatal("mismatch raised on readings a second apart")
		}
	}
}

func TestSilentProbeHasNoFigures(t *testing.T) {
	b := newBox(1)
	b.answer(100, "GPU-0", 5*gib, gib, gib, gib)
	s := b.sampler()
	var states []snapshot.ProbeState
	for range 12 {
		snap := b.tick(s)
		p := snap.Rows[0]
		states = append(states, p.Probe.State)
		if known := p.Allocated.Known(); known != (p.Probe.State != snapshot.ProbeSilent) {
			t.Errorf("%s: allocated known %v", p.Probe.State, known)
		}
	}
	if states[0] != snapshot.ProbeLive || states[4] != snapshot.ProbeStale || states[11] != snapshot.ProbeSilent {
		t.Errorf("states %v", states)
	}
}

// A single tick looks up processes twice, and keeps all that the first look-up has found.
func TestSingleHasWhatATickHas(t *testing.T) {
	for _, single := range []bool{false, true} {
		b := newBox(2)
		p := b.processes[100]
		p.Memory = quantity.From(3*quantity.GiB, quantity.System)
		b.processes[100] = p
		b.answer(100, "GPU-1", gib, gib, 0, gib) // the driver lists the process only on GPU 0
		snap := b.tick(b.sampler(func(o *Options) { o.Single = single }))
		if got := snap.Rows[0].Host; got.Or(0) != 3*quantity.GiB {
			t.Errorf("single %v: memory of the host %v", single, got)
		}
		if len(snap.Rows) != 3 || snap.Driver.ProbesAnswering != 1 {
			t.Errorf("single %v: %d rows, %d probes answer, want 3 and 1", single, len(snap.Rows), snap.Driver.ProbesAnswering)
		}
	}
}

func TestReusedPIDIsAnotherRow(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	before := b.tick(s).Rows[0].ID
	b.processes[100] = info(100, 2000)
	snap := b.tick(s)
	if snap.Rows[0].ID == before {
		t.Error("the new process has the row of the old one")
	}
	if len(snap.Ended) != 1 || snap.Ended[0].Last.ID != before {
		t.Errorf("ended %+v, want the first process", snap.Ended)
	}
}

func TestProcessThatLeavesProcFirstKeepsItsIdentity(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	before := b.tick(s).Rows[0]
	delete(b.processes, 100)
	snap := b.tick(s)
	if len(snap.Rows) != 1 || snap.Rows[0].ID != before.ID || snap.Rows[0].User != "alice" {
		t.Errorf("the driver still lists pid 100: got %+v", snap.Rows)
	}
	r := b.readings["GPU-0"]
	r.Processes = nil
	b.readings["GPU-0"] = r
	snap = b.tick(s)
	if len(snap.Rows) != 0 || len(snap.Ended) != 1 {
		t.Fatalf("%d rows, %d ended, want 0 and 1", len(snap.Rows), len(snap.Ended))
	}
	if e := s.History().Events(1)[0]; e.Kind != snapshot.EventEnded || !strings.HasPrefix(e.Message, "exited, used 10.0G, peak 10.0G") {
		t.Errorf("event %q", e.Message)
	}
}

func TestProcessThatReturnsIsNotEnded(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	there := b.readings["GPU-0"]
	left := there
	left.Processes = nil
	for range 3 {
		b.readings["GPU-0"] = there
		if snap := b.tick(s); len(snap.Rows) != 1 || len(snap.Ended) != 0 {
			t.Fatalf("back on its GPU: %d rows, %d ended", len(snap.Rows), len(snap.Ended))
		}
		b.readings["GPU-0"] = left
		if snap := b.tick(s); len(snap.Rows) != 0 || len(snap.Ended) != 1 {
			t.Fatalf("off its GPU: %d rows, %d ended", len(snap.Rows), len(snap.Ended))
		}
	}
}

func TestForeignPIDHasNoOwner(t *testing.T) {
	b := newBox(1)
	delete(b.processes, 100)
	p := b.tick(b.sampler()).Rows[0]
	if !p.ID.Process.Foreign() || p.User != "" || bytesOf(t, p.Used) != 10*gib {
		t.Errorf("got %+v", p)
	}
}

func TestPublishedSnapshotsNeverChange(t *testing.T) {
	b := newBox(3)
	s := b.sampler()
	b.answer(100, "GPU-0", 5*gib, gib, gib, gib)
	first := b.tick(s)
	second := b.tick(s)
	keepFirst, keepSecond := deepCopy(first), deepCopy(second)
	b.use("GPU-0", 70*gib)
	b.processes[101] = info(101, 5)
	b.readErr["GPU-2"] = &nvml.Error{Name: "ERROR_GPU_IS_LOST", Call: "x", Kind: nvml.ErrGPULost}
	for range 5 {
		b.tick(s)
	}
	if !reflect.DeepEqual(*first, keepFirst) || !reflect.DeepEqual(*second, keepSecond) {
		t.Error("a later tick changed a published snapshot")
	}
}

// deepCopy copies a snapshot and most of its slices.
func deepCopy(s *snapshot.Snapshot) snapshot.Snapshot {
	c := *s
	c.GPUs = append([]snapshot.GPU(nil), s.GPUs...)
	c.Rows = append([]snapshot.Process(nil), s.Rows...)
	c.Ended = append([]snapshot.EndedProcess(nil), s.Ended...)
	c.Alerts = append([]snapshot.Alert(nil), s.Alerts...)
	for i := range c.Rows {
		if c.Rows[i].Probe != nil {
			p := *c.Rows[i].Probe
			c.Rows[i].Probe = &p
		}
		c.Rows[i].Allocators = append([]snapshot.Allocator(nil), c.Rows[i].Allocators...)
	}
	for i := range c.GPUs {
		c.GPUs[i].XIDs = append([]snapshot.XID(nil), c.GPUs[i].XIDs...)
		c.GPUs[i].Instances = append([]snapshot.Instance(nil), c.GPUs[i].Instances...)
	}
	if s.Ended == nil {
		c.Ended = nil
	}
	return c
}

func TestUpdatesHoldTheNewestOnly(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	var last *snapshot.Snapshot
	for range 5 {
		last = b.tick(s)
	}
	<-s.Updates()
	if s.Latest() != last {
		t.Error("Latest is not the newest snapshot")
	}
	select {
	case <-s.Updates():
		t.Error("five ticks left more than one update waiting")
	default:
	}
}

func TestRunEndsWithItsContextAndClosesTheDriver(t *testing.T) {
	b := newBox(2)
	s := b.sampler()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	<-s.Updates()
	s.Suspend()
	if b.mu.Lock(); b.open {
		t.Error("suspended, and the driver is still open")
	}
	b.mu.Unlock()
	before := s.Latest().Sequence
	s.Resume()
	for deadline := time.Now().Add(testTimeout); s.Latest().Sequence == before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if s.Latest().Sequence == before {
		t.Error("no tick after Resume")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if b.open {
		t.Error("Run has ended, and the driver is still open")
	}
}

func TestPanicOfASourceIsAnError(t *testing.T) {
	b := newBox(1)
	s := b.sampler(func(o *Options) { o.Devices = panicking{b} })
	err := s.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "the driver's answer was absurd") || !strings.Contains(err.Error(), "box_test") && !strings.Contains(err.Error(), "sampler_test") {
		t.Errorf("got %v, want the panic with its stack", err)
	}
}

// The driver is closed after the panic of one GPU. Meanwhile, the panic of another GPU must not end
// the program.
func TestPanicsOfTwoGPUsAreOneError(t *testing.T) {
	b := newBox(2)
	s := b.sampler(func(o *Options) { o.Devices = panicking{b} })
	err := s.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "the driver's answer was absurd") {
		t.Errorf("got %v, want the panic", err)
	}
}

type panicking struct{ *box }

func (panicking) Read(nvml.Device) (nvml.Reading, error) { panic("the driver's answer was absurd") }
