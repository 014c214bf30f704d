package sampler

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// reading is one tick: the driver's reading at a second, and the probe's, taken lag seconds earlier.
type reading struct {
	second     float64
	used, held quantity.Bytes
	lag        float64
	other      quantity.Bytes // the expected result
}

const unknown quantity.Bytes = -1

func TestOtherMemoryIsUnknownWhileReadingsAreSkewed(t *testing.T) {
	for name, readings := range map[string][]reading{
		"still": {
			{1, 12 * gib, 11 * gib, .9, unknown}, {2, 12 * gib, 11 * gib, .9, gib}, {3, 12*gib + 100*mib, 11 * gib, .9, gib + 100*mib},
		},
		"still, and read in the same moment": {{1, 12 * gib, 11 * gib, 0, gib}},
		"a report of before 18 GiB were allocated, given again and again": {
			{1, 20*gib + 900*mib, gib, .36, unknown}, {1.2, 20*gib + 900*mib, gib, .56, unknown},
			{2.2, 20*gib + 900*mib, gib, 1.56, unknown}, {3.2, 20*gib + 900*mib, 20 * gib, .1, 900 * mib},
		},
		"memory that comes in small pieces while the report is old": {
			{1, 12 * gib, 11 * gib, 0, gib}, {1.1, 12*gib + 100*mib, 11 * gib, .1, gib + 100*mib},
			{1.2, 12*gib + 200*mib, 11 * gib, .2, gib + 200*mib}, {1.3, 12*gib + 300*mib, 11 * gib, .3, unknown},
		},
		"a flush that the driver shows first": {
			{1, 12 * gib, 11 * gib, .9, unknown},
			{2, 4 * gib, 11 * gib, .9, unknown},
			{3, 4 * gib, 3 * gib, .9, gib},
		},
		"a flush that the probe shows first": {
			{1, 12 * gib, 11 * gib, 0, gib},
			{2, 12 * gib, 3 * gib, -.01, unknown},
			{3, 4 * gib, 3 * gib, 0, gib},
		},
		"a probe that is asked less often": {
			{1, 12 * gib, 11 * gib, .5, unknown},
			{1.1, 4 * gib, 11 * gib, .6, unknown},
			{1.2, 4 * gib, 11 * gib, .7, unknown},
			{1.3, 4 * gib, 11 * gib, .8, unknown},
			{1.4, 4 * gib, 3 * gib, .2, gib},
		},
		"a model that is loaded": {
			{1, gib, 0, .5, unknown}, {2, 6 * gib, 2 * gib, .5, unknown}, {3, 11 * gib, 7 * gib, .5, unknown},
			{4, 11 * gib, 10 * gib, .5, gib}, {5, 11 * gib, 10 * gib, .5, gib},
		},
		"other memory that has grown": {
			{1, 12 * gib, 11 * gib, .5, unknown}, {2, 14 * gib, 11 * gib, .5, unknown}, {3, 14 * gib, 11 * gib, .5, 3 * gib},
		},
		"both were read after the change": {
			{1, 12 * gib, 11 * gib, .5, unknown}, {2, 14 * gib, 11 * gib, 0, 3 * gib},
		},
		"a probe that holds more than is used": {
			{1, 12 * gib, 11 * gib, .5, unknown}, {2, 12 * gib, 13 * gib, .5, -gib},
		},
	} {
		var r otherMemory
		for _, x := range readings {
			at := start.Add(time.Duration(x.second * float64(time.Second)))
			read := at.Add(-time.Duration(x.lag * float64(time.Second)))
			got := r.take(x.used, x.held, span{at, at}, span{read, read})
			if v, ok := got.Value(); ok != (x.other != unknown) || ok && v != x.other {
				t.Errorf("%s: after %v s %v, %v", name, x.second, v, ok)
			}
		}
	}
}

func TestReadingsThatMayOverlapAChangeAreSkewed(t *testing.T) {
	at := func(from, to float64) span {
		return span{start.Add(time.Duration(from * float64(time.Second))), start.Add(time.Duration(to * float64(time.Second)))}
	}
	var r otherMemory
	for i, x := range []struct {
		used, held     quantity.Bytes
		usedAt, heldAt span
		other          quantity.Bytes
	}{
		// At 1.1, during both readings, 18 GiB are taken. Only the driver's reading shows them.
		{20 * gib, gib, at(1, 1.2), at(1.05, 1.3), unknown},
		{20 * gib, gib, at(2, 2.1), at(1.05, 1.3), unknown},
		{20 * gib, 19 * gib, at(3, 3.1), at(2.9, 3.2), unknown},
		{20 * gib, 19 * gib, at(4, 4.1), at(2.9, 3.2), gib},
	} {
		if got := r.take(x.used, x.held, x.usedAt, x.heldAt); got.Or(unknown) != x.other {
			t.Errorf("reading %d: other is %v, want %v", i+1, got, x.other)
		}
	}
}

// late makes the probe answer half a second before the next tick.
func (b *box) late(allocated, cached quantity.Bytes) {
	b.answer(100, "GPU-0", allocated, cached, 0, cached)
	b.answers[0].At = b.now.Add(500 * time.Millisecond)
}

func TestFlushBetweenTwoReadingsIsNotOtherMemory(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	tick := func(used, allocated, cached quantity.Bytes) *snapshot.Snapshot {
		b.use("GPU-0", used)
		b.late(allocated, cached)
		return b.tick(s)
	}
	check := func(what string, snap *snapshot.Snapshot, want quantity.Bytes) {
		t.Helper()
		if v, ok := snap.Rows[0].Other.Value(); ok != (want != unknown) || ok && v != want {
			t.Errorf("%s: other is %v, %v", what, v, ok)
		}
		if want == unknown && snap.GPUs[0].Parts.Other.Known() {
			t.Errorf("%s: of the GPU it is %v", what, snap.GPUs[0].Parts.Other)
		}
	}
	check("at first", tick(12*gib, 3*gib, 8*gib), unknown)
	check("before", tick(12*gib, 3*gib, 8*gib), gib)
	before := tick(12*gib, 3*gib, 8*gib)
	check("still before", before, gib)
	skewed := tick(4*gib, 3*gib, 8*gib)
	check("only the driver shows the flush", skewed, unknown)
	after := tick(4*gib, 3*gib, 0)
	check("both show the flush", after, gib)

	// The history has the same figures.
	for _, then := range []struct {
		at   time.Time
		want quantity.Bytes
	}{
		{before.Time, gib}, {skewed.Time, unknown}, {skewed.Time.Add(900 * time.Millisecond), unknown}, {after.Time, gib},
	} {
		past, ok := s.History().At(then.at)
		if !ok {
			t.Fatalf("the history has no %v", then.at)
		}
		check("the history of "+then.at.Format(time.TimeOnly), past, then.want)
	}
}

func TestOtherMemoryIsUnknownAtTheFirstReportOfAProcessThatLoads(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	b.tick(s)
	b.use("GPU-0", 20*gib)
	b.late(9*gib, 0)
	if p := b.tick(s).Rows[0]; p.Other.Known() {
		t.Errorf("other is %v, although the driver showed 10 GiB more, perhaps after the report", p.Other)
	}
	for range 2 {
		b.late(19*gib, 0)
		b.tick(s)
	}
	if p := s.Latest().Rows[0]; p.Other.Or(0) != gib {
		t.Errorf("other is %v", p.Other)
	}
}
