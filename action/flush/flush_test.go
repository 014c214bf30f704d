package flush

import (
	"context"
	"errors"
	"fmt"
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

// pooled is a box with one process whose pool a flush shrinks, and a driver
// that shows what the test has it show.
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
	shown     func(freed quantity.Bytes) quantity.Bytes // what of it the driver shows
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

// flusher flushes the box.
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

func TestGradualFlushOfPoolsGoesInSteps(t *testing.T) {
	b := newPooled("cuda_pool")
	var steps []quantity.Bytes
	report, err := b.flusher().Run(t.Context(), Request{
		Process: b.id, Level: Gradual, Devices: []string{b.uuid},
		Progress: func(r Result) { steps = append(steps, r.Freed()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	keeps := b.keeps()
	for _, r := range b.requests {
		if r.Level != Gradual || !slices.Equal(r.Devices, []string{b.uuid}) {
			t.Errorf("it asked for %+v", r)
		}
	}
	if want := []quantity.Bytes{6 * gib, 4 * gib, 2 * gib, 0}; !slices.Equal(keeps, want) {
		t.Errorf("it let it keep %v, want %v", keeps, want)
	}
	if want := []quantity.Bytes{2 * gib, 4 * gib, 6 * gib}; !slices.Equal(steps, want) {
		t.Errorf("its progress was %v, want %v", steps, want)
	}
	if report.Freed() != 8*gib || report.Took != 80*time.Millisecond || report.Step != 4 || report.Stopped {
		t.Errorf("the report is %+v", report)
	}
	if got := report.Sentence("7"); got != "flushed 7: 13.0G to 5.00G, freed 8.00G in 80 ms; driver says -8.00G  ok" {
		t.Errorf("it says %s", got)
	}
	if b.slept != 3*stepPause {
		t.Errorf("it paused for %v between 4 steps", b.slept)
	}
}

func TestOtherFlushesHaveOneStep(t *testing.T) {
	for _, c := range []struct {
		kind  string
		level Level
		dry   bool
	}{{"pytorch", Gradual, false}, {"cuda_pool", Selective, false}, {"cuda_pool", Urgent, false}, {"cuda_pool", Gradual, true}} {
		b := newPooled(c.kind)
		report := b.run(t, t.Context(), Request{Level: c.level, DryRun: c.dry})
		if len(b.requests) != 1 || b.requests[0].KeepBytes != 0 || b.requests[0].DryRun != c.dry || report.Freed() != 8*gib {
			t.Errorf("%+v asked for %+v and freed %s", c, b.requests, report.Freed())
		}
		if c.dry && (report.DriverFreed().Known() || b.reserved != 12*gib || report.Sentence("7") != "dry run 7: 13.0G to 5.00G, would free 8.00G") {
			t.Errorf("the dry run says %s", report.Sentence("7"))
		}
	}
}

func TestFlushStopsBetweenSteps(t *testing.T) {
	b := newPooled("cuda_pool")
	ctx, stop := context.WithCancel(t.Context())
	b.onFlush = func(n int) (string, error) {
		if n == 2 {
			stop() // while the second step is under way: it is waited for
		}
		return "", nil
	}
	report := b.run(t, ctx, Request{Level: Gradual})
	if len(b.requests) != 2 || !report.Stopped || report.Freed() != 4*gib {
		t.Errorf("%d steps, freed %s, stopped %v", len(b.requests), report.Freed(), report.Stopped)
	}
	if got := report.Sentence("7"); got != "stopped 7: 13.0G to 9.00G, freed 4.00G of 8.00G; driver says -4.00G  ok" {
		t.Errorf("it says %s", got)
	}
}

// keeps are what the requests let the process keep.
func (b *pooled) keeps() []quantity.Bytes {
	var keeps []quantity.Bytes
	for _, r := range b.requests {
		keeps = append(keeps, r.KeepBytes)
	}
	return keeps
}

func TestSkippedStepIsFollowedByTheLast(t *testing.T) {
	b := newPooled("cuda_pool")
	b.onFlush = func(n int) (string, error) {
		return map[int]string{2: "its cache is no larger than keep_bytes"}[n], nil
	}
	report := b.run(t, t.Context(), Request{Level: Gradual})
	if got, want := b.keeps(), []quantity.Bytes{6 * gib, 4 * gib, 0}; !slices.Equal(got, want) {
		t.Errorf("it let it keep %v, want %v", got, want)
	}
	if got := report.Sentence("7"); got != "flushed 7: 13.0G to 5.00G, freed 8.00G in 60 ms; driver says -8.00G  ok" || report.Outcome() != "flushed" {
		t.Errorf("%s: it says %s", report.Outcome(), got)
	}
}

// TestFlushFreesMoreThanExpected: a pool of the driver counts as used what its
// streams have not yet freed.
func TestFlushFreesMoreThanExpected(t *testing.T) {
	b := newPooled("cuda_pool")
	row := b.row(b.snap)
	row.Returnable = quantity.From(gib, quantity.Probe)
	row.Allocators[0].Returnable = row.Returnable
	b.onFlush = func(n int) (string, error) {
		b.allocated = 0 // the flush has waited for the streams
		return map[int]string{4: "nothing that a flush frees was cached"}[n], nil
	}
	report := b.run(t, t.Context(), Request{Level: Gradual})
	if got := report.Sentence("7"); !strings.HasPrefix(got, "flushed 7: 13.0G to 1.25G, freed 11.8G in 80 ms; driver") || report.Outcome() != "flushed" {
		t.Errorf("%s: it says %s", report.Outcome(), got)
	}
	b = newPooled("cuda_pool")
	row = b.row(b.snap)
	row.Returnable = quantity.From(gib, quantity.Probe)
	row.Allocators[0].Returnable = row.Returnable
	b.onFlush = func(n int) (string, error) {
		b.allocated = 0
		return "", map[int]error{2: errors.New("no answer in time")}[n]
	}
	report = b.run(t, t.Context(), Request{Level: Gradual})
	if got := report.Sentence("7"); !strings.Contains(got, ", freed 11.2G: after step 1 of 4: no answer in time; driver") {
		t.Errorf("it says %s", got)
	}
}

func TestFlushEndsWhenTheLastStepIsSkipped(t *testing.T) {
	b := newPooled("cuda_pool")
	b.onFlush = func(int) (string, error) { return "a graph capture was running", nil }
	report := b.run(t, t.Context(), Request{Level: Gradual})
	if got, want := b.keeps(), []quantity.Bytes{6 * gib, 0}; !slices.Equal(got, want) {
		t.Errorf("it let it keep %v, want %v", got, want)
	}
	if got := report.Sentence("7"); got != "flush 7: nothing freed of 8.00G: a graph capture was running, try again" || !report.Failed() {
		t.Errorf("it says %s", got)
	}
}

func TestFlushReportsWhatWasFreedBeforeAFailedStep(t *testing.T) {
	b := newPooled("cuda_pool")
	b.onFlush = func(n int) (string, error) {
		if n == 3 {
			return "", errors.New("no answer in time")
		}
		return "", nil
	}
	report := b.run(t, t.Context(), Request{Level: Gradual})
	if report.Freed() != 4*gib || report.Reason != "after step 2 of 4: no answer in time" {
		t.Errorf("freed %s, %q", report.Freed(), report.Reason)
	}
	b = newPooled("cuda_pool")
	b.onFlush = func(n int) (string, error) {
		if n == 2 {
			return "", fmt.Errorf("probe: flush of PID 7: %w", &probe.Error{Code: probe.RateLimited, Message: "too many flushes: again in 0.5 s"})
		}
		return "", nil
	}
	if report = b.run(t, t.Context(), Request{Level: Gradual}); report.Reason != "after step 1 of 4: too many flushes: again in 0.5 s" {
		t.Errorf("a refused step is reported as %q", report.Reason)
	}
	b = newPooled("cuda_pool")
	b.onFlush = func(int) (string, error) { return "", probe.ErrNoProbe }
	if _, err := b.flusher().Run(t.Context(), Request{Process: b.id, Level: Gradual}); !errors.Is(err, probe.ErrNoProbe) {
		t.Errorf("a flush that never began reports %v", err)
	}
}

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
	t.Run("never", func(t *testing.T) {
		b := newPooled("pytorch")
		b.shown = func(quantity.Bytes) quantity.Bytes { return 0 }
		report := b.run(t, t.Context(), Request{Level: Urgent})
		if got := report.Sentence("7"); !strings.HasSuffix(got, "driver says 0  differs") {
			t.Errorf("it says %s", got)
		}
		if b.slept < driverTimeout || b.slept > driverTimeout+driverPause {
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

// TestFlushWaitsForNewStats before it reads the driver, but not for long.
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
	if b.slept < statsTimeout {
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
