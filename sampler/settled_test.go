package sampler

import (
	"bytes"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// reading is one tick: what the driver says at second, and what the probe has
// said so many seconds before.
type reading struct {
	second     float64
	used, held quantity.Bytes
	lag        float64
	other      quantity.Bytes // −1: unknown
}

const nobodyKnows quantity.Bytes = -1

func TestWhatIsOtherIsKnownOnlyOfOneMoment(t *testing.T) {
	for name, readings := range map[string][]reading{
		"still": {
			{1, 12 * gib, 11 * gib, .9, gib}, {2, 12 * gib, 11 * gib, .9, gib}, {3, 12*gib + 100*mib, 11 * gib, .9, gib + 100*mib},
		},
		"a flush that the driver shows first": {
			{1, 12 * gib, 11 * gib, .9, gib},
			{2, 4 * gib, 11 * gib, .9, nobodyKnows},
			{3, 4 * gib, 3 * gib, .9, gib},
		},
		"one that the probe shows first": {
			{1, 12 * gib, 11 * gib, 0, gib},
			{2, 12 * gib, 3 * gib, -.01, nobodyKnows},
			{3, 4 * gib, 3 * gib, 0, gib},
		},
		"a probe that is asked less often": {
			{1, 12 * gib, 11 * gib, .5, gib},
			{1.1, 4 * gib, 11 * gib, .6, nobodyKnows},
			{1.2, 4 * gib, 11 * gib, .7, nobodyKnows},
			{1.3, 4 * gib, 11 * gib, .8, nobodyKnows},
			{1.4, 4 * gib, 3 * gib, .2, gib},
		},
		"a model that is loaded": {
			{1, gib, 0, .5, gib}, {2, 6 * gib, 2 * gib, .5, nobodyKnows}, {3, 11 * gib, 7 * gib, .5, nobodyKnows},
			{4, 11 * gib, 10 * gib, .5, gib}, {5, 11 * gib, 10 * gib, .5, gib},
		},
		"what is other has grown": {
			{1, 12 * gib, 11 * gib, .5, gib}, {2, 14 * gib, 11 * gib, .5, nobodyKnows}, {3, 14 * gib, 11 * gib, .5, 3 * gib},
		},
		"both were read afterwards": {
			{1, 12 * gib, 11 * gib, .5, gib}, {2, 14 * gib, 11 * gib, 0, 3 * gib},
		},
		"more than is used, for good": {
			{1, 12 * gib, 11 * gib, .5, gib}, {2, 12 * gib, 13 * gib, .5, -gib},
		},
	} {
		var r settling
		for _, x := range readings {
			at := start.Add(time.Duration(x.second * float64(time.Second)))
			got := r.settled(x.used, x.held, at, at.Add(-time.Duration(x.lag*float64(time.Second))))
			if v, ok := got.Value(); ok != (x.other != nobodyKnows) || ok && v != x.other {
				t.Errorf("%s: after %v s %v, %v", name, x.second, v, ok)
			}
		}
	}
}

// late has the process's probe tell what it read half a second ago.
func (b *box) late(allocated, cached quantity.Bytes) {
	b.answer(100, "GPU-0", allocated, cached, 0, cached)
	b.answers[0].At = b.now.Add(500 * time.Millisecond) // the next tick is in a second
}

func TestAFlushBetweenTwoReadingsMakesNoOther(t *testing.T) {
	b := newBox(1)
	s := b.sampler(patient)
	tick := func(used, allocated, cached quantity.Bytes) *snapshot.Snapshot {
		b.use("GPU-0", used)
		b.late(allocated, cached)
		return b.tick(s)
	}
	check := func(what string, snap *snapshot.Snapshot, want quantity.Bytes) {
		t.Helper()
		if v, ok := snap.Rows[0].Other.Value(); ok != (want != nobodyKnows) || ok && v != want {
			t.Errorf("%s: other is %v, %v", what, v, ok)
		}
		if want == nobodyKnows && snap.GPUs[0].Parts.Other.Known() {
			t.Errorf("%s: of the GPU it is %v", what, snap.GPUs[0].Parts.Other)
		}
	}
	check("before", tick(12*gib, 3*gib, 8*gib), gib)
	before := tick(12*gib, 3*gib, 8*gib)
	check("still before", before, gib)
	torn := tick(4*gib, 3*gib, 8*gib)
	check("the driver has seen the flush", torn, nobodyKnows)
	after := tick(4*gib, 3*gib, 0)
	check("so has the probe", after, gib)

	// The past says what was said then, also to the process that goes on from here.
	var saved bytes.Buffer
	if err := s.Save(&saved); err != nil {
		t.Fatal(err)
	}
	next := b.sampler(patient, func(o *Options) { o.Restore = &saved })
	for name, history := range map[string]snapshot.History{"its own": s.History(), "the next one's": next.History()} {
		for _, then := range []struct {
			at   time.Time
			want quantity.Bytes
		}{
			{before.Time, gib}, {torn.Time, nobodyKnows}, {torn.Time.Add(900 * time.Millisecond), nobodyKnows}, {after.Time, gib},
		} {
			past, ok := history.At(then.at)
			if !ok {
				t.Fatalf("%s history has nothing of %v", name, then.at)
			}
			check(name+" history of "+then.at.Format(time.TimeOnly), past, then.want)
		}
	}
}

// TestAProcessThatLoadsHasNoOtherAtItsFirstWord: what the driver showed before
// there was a probe counts, too.
func TestAProcessThatLoadsHasNoOtherAtItsFirstWord(t *testing.T) {
	b := newBox(1)
	s := b.sampler(patient)
	b.tick(s)
	b.use("GPU-0", 20*gib)
	b.late(9*gib, 0)
	if p := b.tick(s).Rows[0]; p.Other.Known() {
		t.Errorf("other is %v: the driver saw ten GiB more, perhaps after the probe", p.Other)
	}
	b.late(19*gib, 0)
	if p := b.tick(s).Rows[0]; p.Other.Or(0) != gib {
		t.Errorf("other is %v", p.Other)
	}
}

// TestTornMomentsTakeNoRoom however often memory moves.
func TestTornMomentsTakeNoRoom(t *testing.T) {
	r := &rowRecord{}
	for i := range 10_000 {
		p := &snapshot.Process{Used: measured(gib), Allocated: measured(gib)}
		if i%2 == 0 {
			p.Other = measured(0)
		}
		r.noteTorn(start.Add(time.Duration(i)*time.Second), p)
	}
	if len(r.torn) > 64 || !r.tornAt(start.Add(9999*time.Second)) || !r.tornAt(start.Add(9997*time.Second)) || r.tornAt(start.Add(9998*time.Second)) {
		t.Errorf("%d are remembered, the last: %v", len(r.torn), r.torn[len(r.torn)-1])
	}
}
