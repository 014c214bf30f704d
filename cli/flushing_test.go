package cli

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

func (b *pooled) flushing() *flushing {
	return &flushing{
		flush: func(_ context.Context, id process.Identity, r probe.FlushRequest) (probe.FlushResult, error) {
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
		},
		look: func(context.Context) *snapshot.Snapshot {
			snap := *b.snap
			snap.Rows = slices.Clone(b.snap.Rows)
			if p := b.row(&snap); p.Used.Known() {
				p.Used = quantity.From(13*quantity.GiB-b.shown(12*quantity.GiB-b.reserved), quantity.Driver)
			}
			return &snap
		},
		sleep: func(_ context.Context, d time.Duration) {
			b.slept += d
			if b.onSleep != nil {
				b.onSleep()
			}
		},
		now: time.Now,
	}
}

func (b *pooled) run(t *testing.T, ctx context.Context, wish flushWish) flushReport {
	t.Helper()
	report, err := b.flushing().run(ctx, b.id, wish, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

const gib = quantity.GiB

func TestGradualFlushGoesInSteps(t *testing.T) {
	b := newPooled("cuda_pool")
	var steps []quantity.Bytes
	report, err := b.flushing().run(t.Context(), b.id, flushWish{level: probe.Gradual, devices: []string{b.uuid}}, func(r flushReport) {
		steps = append(steps, r.freed())
	})
	if err != nil {
		t.Fatal(err)
	}
	var keeps []quantity.Bytes
	for _, r := range b.requests {
		keeps = append(keeps, r.KeepBytes)
		if r.Level != probe.Gradual || !slices.Equal(r.Devices, []string{b.uuid}) {
			t.Errorf("it asked for %+v", r)
		}
	}
	if want := []quantity.Bytes{6 * gib, 4 * gib, 2 * gib, 0}; !slices.Equal(keeps, want) {
		t.Errorf("it let it keep %v, want %v", keeps, want)
	}
	if want := []quantity.Bytes{2 * gib, 4 * gib, 6 * gib}; !slices.Equal(steps, want) {
		t.Errorf("it told of %v, want %v", steps, want)
	}
	if report.freed() != 8*gib || report.took != 80*time.Millisecond || report.step != 4 || report.stopped {
		t.Errorf("the report is %+v", report)
	}
	if got := report.result().Sentence("7"); got != "flushed 7: 13.0G to 5.00G, freed 8.00G in 80 ms; driver says -8.00G  ok" {
		t.Errorf("it says %s", got)
	}
	if b.slept != 3*flushPause {
		t.Errorf("it paused for %v between 4 steps", b.slept)
	}
}

func TestOnlyGradualOfPartsGoesInSteps(t *testing.T) {
	for _, c := range []struct {
		kind  string
		level probe.Level
		dry   bool
	}{{"pytorch", probe.Gradual, false}, {"cuda_pool", probe.Selective, false}, {"cuda_pool", probe.Urgent, false}, {"cuda_pool", probe.Gradual, true}} {
		b := newPooled(c.kind)
		report := b.run(t, t.Context(), flushWish{level: c.level, dryRun: c.dry})
		if len(b.requests) != 1 || b.requests[0].KeepBytes != 0 || b.requests[0].DryRun != c.dry || report.freed() != 8*gib {
			t.Errorf("%+v asked for %+v and freed %s", c, b.requests, report.freed())
		}
		if result := report.result(); c.dry && (result.Driver.Known() || b.reserved != 12*gib || result.Sentence("7") != "dry run 7: 13.0G to 5.00G, would free 8.00G") {
			t.Errorf("the dry run says %s", result.Sentence("7"))
		}
	}
}

func TestAFlushIsStoppedBetweenItsSteps(t *testing.T) {
	b := newPooled("cuda_pool")
	ctx, stop := context.WithCancel(t.Context())
	b.onFlush = func(n int) (string, error) {
		if n == 2 {
			stop() // while the second step is under way: it is waited for
		}
		return "", nil
	}
	report := b.run(t, ctx, flushWish{level: probe.Gradual})
	if len(b.requests) != 2 || !report.stopped || report.freed() != 4*gib {
		t.Errorf("%d steps, freed %s, stopped %v", len(b.requests), report.freed(), report.stopped)
	}
	result := report.result()
	if got := result.Sentence("7"); got != "stopped 7: 13.0G to 9.00G, freed 4.00G of 8.00G; driver says -4.00G  ok" {
		t.Errorf("it says %s", got)
	}
}

func TestAFlushEndsWhereItIsSkipped(t *testing.T) {
	b := newPooled("cuda_pool")
	b.onFlush = func(int) (string, error) { return "a graph capture was running", nil }
	report := b.run(t, t.Context(), flushWish{level: probe.Gradual})
	if len(b.requests) != 1 {
		t.Errorf("it asked %d times", len(b.requests))
	}
	result := report.result()
	if got := result.Sentence("7"); got != "flush 7: nothing freed of 8.00G: a graph capture was running, try again" || !result.Failed() {
		t.Errorf("it says %s", got)
	}
}

func TestALaterStepThatFailsLeavesAReport(t *testing.T) {
	b := newPooled("cuda_pool")
	b.onFlush = func(n int) (string, error) {
		if n == 3 {
			return "", errors.New("no answer in time")
		}
		return "", nil
	}
	report := b.run(t, t.Context(), flushWish{level: probe.Gradual})
	if report.freed() != 4*gib || report.reason != "after step 2 of 4: no answer in time" {
		t.Errorf("freed %s, %q", report.freed(), report.reason)
	}
	b = newPooled("cuda_pool")
	b.onFlush = func(n int) (string, error) {
		if n == 2 {
			return "", fmt.Errorf("probe: flush of PID 7: %w", &probe.Error{Code: probe.RateLimited, Message: "too many flushes: again in 0.5 s"})
		}
		return "", nil
	}
	if report = b.run(t, t.Context(), flushWish{level: probe.Gradual}); report.reason != "after step 1 of 4: too many flushes: again in 0.5 s" {
		t.Errorf("a probe that refuses is told as %q", report.reason)
	}
	b = newPooled("cuda_pool")
	b.onFlush = func(int) (string, error) { return "", probe.ErrNoProbe }
	if _, err := b.flushing().run(t.Context(), b.id, flushWish{level: probe.Gradual}, nil); !errors.Is(err, probe.ErrNoProbe) {
		t.Errorf("a flush that never began reports %v", err)
	}
}

func TestTheDriversWord(t *testing.T) {
	t.Run("late", func(t *testing.T) {
		b := newPooled("pytorch")
		looks := 0
		b.shown = func(freed quantity.Bytes) quantity.Bytes {
			if looks++; looks <= 4 {
				return 0
			}
			return freed
		}
		report := b.run(t, t.Context(), flushWish{level: probe.Urgent})
		if got := report.result().Sentence("7"); !strings.HasSuffix(got, "driver says -8.00G  ok") {
			t.Errorf("it says %s", got)
		}
	})
	t.Run("never", func(t *testing.T) {
		b := newPooled("pytorch")
		b.shown = func(quantity.Bytes) quantity.Bytes { return 0 }
		report := b.run(t, t.Context(), flushWish{level: probe.Urgent})
		if got := report.result().Sentence("7"); !strings.HasSuffix(got, "driver says 0  differs") {
			t.Errorf("it says %s", got)
		}
		if b.slept < driverTimeout || b.slept > driverTimeout+driverPause {
			t.Errorf("it waited for %v", b.slept)
		}
	})
	t.Run("of a busy program", func(t *testing.T) {
		b := newPooled("pytorch")
		b.shown = func(freed quantity.Bytes) quantity.Bytes { return freed - min(freed, 3*gib) }
		f := b.flushing()
		look := f.look
		f.look = func(ctx context.Context) *snapshot.Snapshot {
			snap := look(ctx)
			p := b.row(snap)
			held := quantity.From(b.reserved+min(12*gib-b.reserved, 3*gib), quantity.Probe)
			p.Allocators = []snapshot.Allocator{{Kind: "pytorch", Reserved: held, Returnable: p.Returnable}}
			p.Probe = &snapshot.Probe{State: snapshot.ProbeLive}
			return snap
		}
		report, err := f.run(t.Context(), b.id, flushWish{level: probe.Urgent}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := report.result().Sentence("7"); !strings.HasSuffix(got, "driver says -5.00G, 3.00G taken since  ok") || b.slept > 0 {
			t.Errorf("it says %s, after %v", got, b.slept)
		}
		// Books that are older than the flush explain nothing.
		b = newPooled("pytorch")
		b.shown = func(quantity.Bytes) quantity.Bytes { return 0 }
		f = b.flushing()
		old := f.look
		f.look = func(ctx context.Context) *snapshot.Snapshot {
			snap := old(ctx)
			p := b.row(snap)
			p.Allocators = []snapshot.Allocator{{Kind: "pytorch", Reserved: quantity.From(12*gib, quantity.Probe), Returnable: p.Returnable}}
			p.Probe = &snapshot.Probe{State: snapshot.ProbeLive}
			return snap
		}
		f.heard = func() []probe.Answer { return nil }
		if report, err = f.run(t.Context(), b.id, flushWish{level: probe.Urgent}, nil); err != nil {
			t.Fatal(err)
		}
		if got := report.result().Sentence("7"); !strings.HasSuffix(got, "driver says 0  differs") {
			t.Errorf("with old books it says %s", got)
		}
	})
	t.Run("of the whole GPU", func(t *testing.T) {
		b := newPooled("pytorch")
		b.row(b.snap).Used = snapshot.Bytes{}
		report := b.run(t, t.Context(), flushWish{level: probe.Urgent})
		if d := report.devices[0]; !d.whole || !d.driverBefore.Known() {
			t.Errorf("the driver's figure is %+v", d)
		}
		if got := report.result(); got.UsedBefore.Known() || !got.Driver.Known() {
			t.Errorf("the result is %+v", got)
		}
	})
	t.Run("none", func(t *testing.T) {
		b := newPooled("pytorch")
		b.snap.GPUs, b.row(b.snap).Used = nil, snapshot.Bytes{}
		report := b.run(t, t.Context(), flushWish{level: probe.Urgent})
		if got := report.result().Sentence("7"); got != "flushed 7: 12.0G to 4.00G, freed 8.00G in 20 ms; the driver does not tell" {
			t.Errorf("it says %s", got)
		}
	})
}

// TestTheBooksAreAwaited: the driver is looked at when the probe has told its
// new figures, or has had its time.
func TestTheBooksAreAwaited(t *testing.T) {
	b := newPooled("pytorch")
	f := b.flushing()
	answer := probe.Answer{Process: b.id, At: time.Now().Add(-time.Second)}
	f.heard = func() []probe.Answer { return []probe.Answer{answer} }
	b.onSleep = func() {
		if b.slept >= 50*time.Millisecond {
			answer.At = time.Now()
		}
	}
	if _, err := f.run(t.Context(), b.id, flushWish{level: probe.Urgent}, nil); err != nil {
		t.Fatal(err)
	}
	if b.slept < 50*time.Millisecond || b.slept >= booksTimeout {
		t.Errorf("it waited for %v", b.slept)
	}
	b.onSleep, b.slept, answer.At = nil, 0, time.Time{}
	if _, err := f.run(t.Context(), b.id, flushWish{level: probe.Urgent}, nil); err != nil {
		t.Fatal(err)
	}
	if b.slept < booksTimeout {
		t.Errorf("a silent probe was waited for %v", b.slept)
	}
}

func TestFlushesAreInTheLogForGood(t *testing.T) {
	_, src, sampling := demo(t, defaults())
	var target snapshot.Process
	for _, p := range sampling.Latest().Rows {
		if p.User == "carol" && p.Returnable.Or(0) > 0 {
			target = p
		}
	}
	if target.ID.Process.PID == 0 {
		t.Fatal("carol has nothing cached")
	}
	f := src.flushing(func(context.Context) *snapshot.Snapshot { return sampling.Tick(src.options.Clock()) })
	report, err := f.run(t.Context(), target.ID.Process, flushWish{level: probe.Gradual, devices: []string{target.ID.GPUUUID}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result := report.result()
	if freed := result.Freed(); freed < target.Returnable.Or(0) || result.Driver.Or(0) != -freed {
		t.Errorf("%s returnable, freed %s, the driver says %s", target.Returnable.Or(0), freed, result.Driver.Or(0))
	}
	event := flushedEvent(src.options.Clock(), sampling.Latest(), target.ID.Process, &report, result)
	if event.Kind != snapshot.EventFlush || event.User != "carol" || event.Row != target.ID || event.Name != "finetune.py" ||
		!strings.HasPrefix(event.Message, "flushed: ") || event.Bytes.Or(0) != result.Freed() {
		t.Errorf("the event is %+v", event)
	}
	// The screen has the new books at once, not at the probe's next turn.
	for _, p := range sampling.Latest().Rows {
		if p.ID == target.ID && (p.Returnable.Or(1) != 0 || p.Other.Or(-1) < 0) {
			t.Errorf("after the flush %s is returnable, other %s", p.Returnable.Or(-1), p.Other.Or(0))
		}
	}
	if _, err := f.run(t.Context(), process.Identity{PID: target.ID.Process.PID, StartTime: 1}, flushWish{level: probe.Gradual}, nil); err == nil || !strings.Contains(err.Error(), "is another process now") {
		t.Errorf("another process with that pid: %v", err)
	}
}

// TestADryRunOfOwnCaches: what these give back no figure of the probe has in it.
func TestADryRunOfOwnCaches(t *testing.T) {
	for _, c := range []struct {
		dry  bool
		note string
		want bool
	}{
		{true, "would empty KV cache (200.0 MiB)", true},
		{true, "nothing evictable is registered here: the ordinary flush", false},
		{false, "emptied KV cache", false},
	} {
		r := flushReport{wish: flushWish{dryRun: c.dry}, notes: []string{c.note}}
		if got := r.result().More; got != c.want {
			t.Errorf("%q: more is %v", c.note, got)
		}
	}
}
