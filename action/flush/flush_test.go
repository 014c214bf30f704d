package flush

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// pooled is a box with one process, whose pool a flush shrinks, and with a driver that shows what
// the test decides.
type pooled struct {
	snap      *snapshot.Snapshot
	id        process.Identity
	uuid      string
	reserved  quantity.Bytes // by the pool
	allocated quantity.Bytes
	requests  []probe.FlushRequest
	slept     time.Duration
	onFlush   func(n int) (reason string, err error) // before the n-th
	onSleep   func()
	shown     func(freed quantity.Bytes) quantity.Bytes // how much of it the driver shows
	answered  func() time.Time                          // when the probe reported last; nil: just now
}

func newPooled(kind string) *pooled {
	b := &pooled{snap: snapshottest.DrawnBox(), reserved: 12 * quantity.GiB, allocated: 4 * quantity.GiB}
	for i := range b.snap.Rows {
		p := &b.snap.Rows[i]
		if p.ID.Process.PID != snapshottest.Leaking {
			continue
		}
		b.id, b.uuid = p.ID.Process, p.ID.GPUUUID
		p.Used = quantity.From(13*quantity.GiB, quantity.Driver)
		p.Returnable = quantity.From(8*quantity.GiB, quantity.Probe)
		p.Allocators = []snapshot.Allocator{{Kind: kind, Returnable: p.Returnable}}
	}
	b.shown = func(freed quantity.Bytes) quantity.Bytes { return freed }
	return b
}

func (b *pooled) row(snap *snapshot.Snapshot) *snapshot.Process {
	i := slices.IndexFunc(snap.Rows, func(p snapshot.Process) bool { return p.ID.Process == b.id })
	return &snap.Rows[i]
}

// flusher returns a Flusher of the box that does not sleep.
func (b *pooled) flusher() *Flusher {
	return &Flusher{
		Probes: b, Sample: b.sample, Clock: time.Now,
		sleep: func(_ context.Context, d time.Duration) {
			b.slept += d
			if b.onSleep != nil {
				b.onSleep()
			}
		},
	}
}

// Flush implements Prober.
func (b *pooled) Flush(_ context.Context, _ process.Identity, r probe.FlushRequest) (probe.FlushResult, error) {
	b.requests = append(b.requests, r)
	result := probe.FlushResult{Level: r.Level, DryRun: r.DryRun, Milliseconds: 20}
	if b.onFlush != nil {
		reason, err := b.onFlush(len(b.requests))
		if err != nil {
			return result, err
		}
		result.SkippedReason = reason
	}
	after := min(b.reserved, b.allocated+r.KeepBytes)
	if result.SkippedReason != "" {
		after = b.reserved
	}
	result.Devices = []probe.Flushed{{UUID: b.uuid, BeforeBytes: b.reserved, AfterBytes: after, FreedBytes: b.reserved - after}}
	if !r.DryRun {
		b.reserved = after
	}
	return result, nil
}

// Answers implements Prober.
func (b *pooled) Answers() []probe.Answer {
	if b.answered == nil {
		return []probe.Answer{{Process: b.id, At: time.Now()}}
	}
	return []probe.Answer{{Process: b.id, At: b.answered()}}
}

// sample takes a sample of the box.
func (b *pooled) sample(context.Context) *snapshot.Snapshot {
	snap := *b.snap
	snap.Rows = slices.Clone(b.snap.Rows)
	if p := b.row(&snap); p.Used.Known() {
		p.Used = quantity.From(13*quantity.GiB-b.shown(12*quantity.GiB-b.reserved), quantity.Driver)
	}
	return &snap
}

func (b *pooled) run(t *testing.T, ctx context.Context, r Request) Result {
	t.Helper()
	r.Process = b.id
	report, err := b.flusher().Run(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

const gib = quantity.GiB

func TestFlushReportsDriverDrop(t *testing.T) {
	t.Run("late", func(t *testing.T) {
		b := newPooled("pytorch")
		looks := 0
		b.shown = func(freed quantity.Bytes) quantity.Bytes {
			if looks++; looks <= 4 {
				return 0
			}
			return freed
		}
		report := b.run(t, t.Context(), Request{Level: Urgent})
		if got := report.Sentence("7"); !strings.HasSuffix(got, "driver says -8.00G  ok") {
			t.Errorf("it says %s", got)
		}
	})
	t.Run("unknown for a moment", func(t *testing.T) {
		b := newPooled("pytorch")
		f := b.flusher()
		sample, samples := f.Sample, 0
		f.Sample = func(ctx context.Context) *snapshot.Snapshot {
			snap := sample(ctx)
			if samples++; samples == 2 {
				snap.GPUs, b.row(snap).Used = nil, snapshot.Bytes{} // the driver did not answer in time
			}
			return snap
		}
		report, err := f.Run(t.Context(), Request{Process: b.id, Level: Urgent})
		if err != nil {
			t.Fatal(err)
		}
		if freed := report.DriverFreed(); freed.Or(0) != 8*gib {
			t.Errorf("by the driver %v was freed", freed)
		}
	})
	t.Run("never", func(t *testing.T) {
		b := newPooled("pytorch")
		b.shown = func(quantity.Bytes) quantity.Bytes { return 0 }
		report := b.run(t, t.Context(), Request{Level: Urgent})
		if got := report.Sentence("7"); !strings.HasSuffix(got, "driver says 0  differs") {
			t.Errorf("it says %s", got)
		}
		if b.slept != time.Second {
			t.Errorf("it waited for %v", b.slept)
		}
	})
	t.Run("of a busy program", func(t *testing.T) {
		b := newPooled("pytorch")
		b.shown = func(freed quantity.Bytes) quantity.Bytes { return freed - min(freed, 3*gib) }
		f := b.flusher()
		sample := f.Sample
		f.Sample = func(ctx context.Context) *snapshot.Snapshot {
			snap := sample(ctx)
			p := b.row(snap)
			held := quantity.From(b.reserved+min(12*gib-b.reserved, 3*gib), quantity.Probe)
			p.Allocators = []snapshot.Allocator{{Kind: "pytorch", Reserved: held, Returnable: p.Returnable}}
			p.Probe = &snapshot.Probe{State: snapshot.ProbeLive}
			return snap
		}
		report, err := f.Run(t.Context(), Request{Process: b.id, Level: Urgent})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Sentence("7"); !strings.HasSuffix(got, "driver says -5.00G, 3.00G taken since  ok") || b.slept > 0 {
			t.Errorf("it says %s, after %v", got, b.slept)
		}
		// Stats that are older than the flush explain nothing.
		b = newPooled("pytorch")
		b.shown = func(quantity.Bytes) quantity.Bytes { return 0 }
		f = b.flusher()
		old := f.Sample
		f.Sample = func(ctx context.Context) *snapshot.Snapshot {
			snap := old(ctx)
			p := b.row(snap)
			p.Allocators = []snapshot.Allocator{{Kind: "pytorch", Reserved: quantity.From(12*gib, quantity.Probe), Returnable: p.Returnable}}
			p.Probe = &snapshot.Probe{State: snapshot.ProbeLive}
			return snap
		}
		b.answered = func() time.Time { return time.Time{} }
		if report, err = f.Run(t.Context(), Request{Process: b.id, Level: Urgent}); err != nil {
			t.Fatal(err)
		}
		if got := report.Sentence("7"); !strings.HasSuffix(got, "driver says 0  differs") {
			t.Errorf("with old stats it says %s", got)
		}
	})
	t.Run("of the whole GPU", func(t *testing.T) {
		b := newPooled("pytorch")
		b.row(b.snap).Used = snapshot.Bytes{}
		report := b.run(t, t.Context(), Request{Level: Urgent})
		if d := report.Devices[0]; !d.Whole || !d.DriverBefore.Known() {
			t.Errorf("the driver's figure is %+v", d)
		}
		if used, _ := report.Used(); used.Known() || !report.DriverFreed().Known() {
			t.Errorf("the result is %+v", report)
		}
	})
	t.Run("none", func(t *testing.T) {
		b := newPooled("pytorch")
		b.snap.GPUs, b.row(b.snap).Used = nil, snapshot.Bytes{}
		report := b.run(t, t.Context(), Request{Level: Urgent})
		if got := report.Sentence("7"); got != "flushed 7: 12.0G to 4.00G, freed 8.00G in 20 ms; not reported by the driver" {
			t.Errorf("it says %s", got)
		}
	})
}

// TestFlushWaitsForNewStats: a flush waits for new stats before it reads the driver, but no longer
// than statsTimeout.
func TestFlushWaitsForNewStats(t *testing.T) {
	b := newPooled("pytorch")
	f := b.flusher()
	at := time.Now().Add(-time.Second)
	b.answered = func() time.Time { return at }
	b.onSleep = func() {
		if b.slept >= 50*time.Millisecond {
			at = time.Now()
		}
	}
	if _, err := f.Run(t.Context(), Request{Process: b.id, Level: Urgent}); err != nil {
		t.Fatal(err)
	}
	if b.slept < 50*time.Millisecond || b.slept >= statsTimeout {
		t.Errorf("it waited for %v", b.slept)
	}
	b.onSleep, b.slept, at = nil, 0, time.Time{}
	if _, err := f.Run(t.Context(), Request{Process: b.id, Level: Urgent}); err != nil {
		t.Fatal(err)
	}
	if b.slept != statsTimeout {
		t.Errorf("it waited for a silent probe for %v", b.slept)
	}
}

func TestDryRunRecognisesOwnCaches(t *testing.T) {
	for _, c := range []struct {
		dry  bool
		note string
		want bool
	}{
		{true, "would empty KV cache (200.0 MiB)", true},
		{true, "nothing evictable is registered here: the ordinary flush", false},
		{false, "emptied KV cache", false},
	} {
		r := Result{DryRun: c.dry, Notes: []string{c.note}}
		if got := r.ownCaches(); got != c.want {
			t.Errorf("%q: %v", c.note, got)
		}
	}
}

// A failed flush has an event of its own kind, so no report counts it as a flush. A refused flush
// was not tried, and has no event.
func TestFailedFlushIsNoted(t *testing.T) {
	b := newPooled("pytorch")
	b.onFlush = func(int) (string, error) { return "", probe.ErrLate }
	var events []snapshot.Event
	f := b.flusher()
	f.Note = func(e snapshot.Event) { events = append(events, e) }
	if _, err := f.Run(t.Context(), Request{Process: b.id, Level: Gradual}); !errors.Is(err, probe.ErrLate) {
		t.Fatal(err)
	}
	if len(events) != 1 || events[0].Kind != snapshot.EventFailed || events[0].Row.Process != b.id ||
		!strings.HasPrefix(events[0].Message, "flush failed: ") || !strings.HasSuffix(events[0].Message, ": it may still happen") {
		t.Errorf("the events are %+v", events)
	}
	if _, err := f.Run(t.Context(), Request{Process: b.id, Level: Gradual, DryRun: true}); err == nil || len(events) != 1 {
		t.Errorf("dry run: %v, %d events", err, len(events))
	}
	b.onFlush = func(int) (string, error) { return "", probe.ErrUnsent }
	if _, err := f.Run(t.Context(), Request{Process: b.id, Level: Gradual}); err == nil || len(events) != 2 || strings.Contains(events[1].Message, "may still happen") {
		t.Errorf("not sent: %v, the events are %+v", err, events)
	}
	b.onFlush = func(int) (string, error) { return "", &process.Refusal{Reason: "it is another process now"} }
	if _, err := f.Run(t.Context(), Request{Process: b.id, Level: Gradual}); err == nil || len(events) != 2 {
		t.Errorf("refused: %v, %d events", err, len(events))
	}
}

// TestSinceNeedsNewStats: how much a program has reserved since the flush is known only from a live
// probe whose stats have changed since.
func TestSinceNeedsNewStats(t *testing.T) {
	live, held := &snapshot.Probe{State: snapshot.ProbeLive}, func(n quantity.Bytes) snapshot.Bytes { return quantity.From(n, quantity.Probe) }
	for name, c := range map[string]struct {
		probe    *snapshot.Probe
		reserved []snapshot.Bytes // by each allocator after the flush, which left 4 of 12 GiB
		want     snapshot.Bytes
	}{
		"two allocators":         {live, []snapshot.Bytes{held(4 * gib), held(gib)}, held(gib)},
		"most is taken again":    {live, []snapshot.Bytes{held(11 * gib)}, held(7 * gib)},
		"as before":              {live, []snapshot.Bytes{held(12 * gib)}, snapshot.Bytes{}},
		"one reports nothing":    {live, []snapshot.Bytes{held(5 * gib), {}}, snapshot.Bytes{}},
		"no allocator":           {live, nil, snapshot.Bytes{}},
		"a probe that is silent": {&snapshot.Probe{State: snapshot.ProbeSilent}, []snapshot.Bytes{held(5 * gib)}, snapshot.Bytes{}},
		"no probe any more":      {nil, []snapshot.Bytes{held(5 * gib)}, snapshot.Bytes{}},
	} {
		b := newPooled("pytorch")
		f := b.flusher()
		sample := f.Sample
		f.Sample = func(ctx context.Context) *snapshot.Snapshot {
			snap := sample(ctx)
			if p := b.row(snap); len(b.requests) > 0 {
				p.Probe, p.Allocators = c.probe, nil
				for _, reserved := range c.reserved {
					p.Allocators = append(p.Allocators, snapshot.Allocator{Kind: "pytorch", Reserved: reserved})
				}
			}
			return snap
		}
		report, err := f.Run(t.Context(), Request{Process: b.id, Level: Urgent})
		if err != nil || report.Since() != c.want {
			t.Errorf("%s: %+v, want %+v; %v", name, report.Since(), c.want, err)
		}
	}
}

// TestIndexOfAGPUThatOnlyAProbeKnows: the index is unknown.
func TestIndexOfAGPUThatOnlyAProbeKnows(t *testing.T) {
	b := newPooled("pytorch")
	if r := b.run(t, t.Context(), Request{Level: Urgent}); r.Devices[0].Index.Or(-1) != 3 {
		t.Errorf("the index is %v", r.Devices[0].Index)
	}
	b = newPooled("pytorch")
	g, _ := b.snap.Device(b.uuid)
	g.Name = ""
	if r := b.run(t, t.Context(), Request{Level: Urgent}); r.Devices[0].Index.Known() {
		t.Errorf("the index is %v", r.Devices[0].Index)
	}
}
