package flush

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/probe"
)

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
	if b.slept != 1200*time.Millisecond {
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
			stop() // while the second step is under way; Run waits for that step
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

// keeps lists how much each request lets the process keep.
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

// TestFlushFreesMoreThanExpected: a pool of the driver still counts memory as used that its streams
// have not yet freed.
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
	for failed, want := range map[int]string{
		2: ", freed 11.2G: after step 1 of 4: no answer in time; driver",
		3: ", freed 11.5G: after step 2 of 4: no answer in time; driver",
	} {
		b := newPooled("cuda_pool")
		row := b.row(b.snap)
		row.Returnable = quantity.From(gib, quantity.Probe)
		row.Allocators[0].Returnable = row.Returnable
		b.onFlush = func(n int) (string, error) {
			b.allocated = 0
			return "", map[int]error{failed: errors.New("no answer in time")}[n]
		}
		report := b.run(t, t.Context(), Request{Level: Gradual})
		if got := report.Sentence("7"); !strings.Contains(got, want) || report.Outcome() != "partly" {
			t.Errorf("%s: %s, want %s", report.Outcome(), got, want)
		}
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

// TestPoolThatHasNothingToFree: a pool that has nothing to free is asked once, and its answer is kept.
func TestPoolThatHasNothingToFree(t *testing.T) {
	b := newPooled("cuda_pool")
	row := b.row(b.snap)
	row.Returnable = quantity.From[quantity.Bytes](0, quantity.Probe)
	row.Allocators[0].Returnable = row.Returnable
	b.onFlush = func(int) (string, error) { return "a graph capture was running", nil }
	report := b.run(t, t.Context(), Request{Level: Gradual})
	if len(b.requests) != 1 || report.Sentence("7") != "flush 7: there was nothing to free: a graph capture was running" {
		t.Errorf("%d requests: %s", len(b.requests), report.Sentence("7"))
	}
}

// TestLastStepAfterAllIsFreed: a step that is skipped because all was freed before is not reported.
func TestLastStepAfterAllIsFreed(t *testing.T) {
	b := newPooled("cuda_pool")
	b.onFlush = func(n int) (string, error) {
		if n == 3 {
			b.allocated -= 2 * gib // so the flush frees all that was expected
		}
		return map[int]string{4: "nothing that a flush frees was cached"}[n], nil
	}
	if report := b.run(t, t.Context(), Request{Level: Gradual}); report.Freed() != 8*gib || report.Outcome() != "flushed" {
		t.Errorf("freed %s, %s, %q", report.Freed(), report.Outcome(), report.Reason)
	}
}
