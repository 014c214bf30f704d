package guard

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// The limit on repeated flushes does not limit first ones.
func TestFirstFlushNeedNotWaitForRepeatedOnes(t *testing.T) {
	often, once := &row{allocated: 60 * gib, cached: 15 * gib}, &row{allocated: gib, cached: 4 * gib}
	b := newBox(often, once)
	e := New(rooms(Act), alice)
	b.run(e, 120, nil)
	often.cached = 15 * gib
	e.Pause(b.now.Add(growthTime + time.Second))
	if done := pids(of(b.run(e, 30, nil), snapshot.GuardFlushed)); done != "100 " {
		t.Fatalf("flushed %s", done)
	}
	often.allocated = 75 * gib
	if done := pids(of(b.run(e, 20, nil), snapshot.GuardFlushed)); done != "101 " {
		t.Errorf("flushed %s, want the one that was not yet", done)
	}
}

func TestBacksOffWhereMemoryComesBack(t *testing.T) {
	b := newBox(&row{allocated: 60 * gib, cached: 15 * gib})
	e := New(rooms(Act), alice)
	var at []int
	last := 0
	all := b.run(e, 3*3600, func(second int) {
		if n := len(e.actions); n > last {
			at = append(at, second)
		}
		last = len(e.actions)
		if b.rows[0].cached == 0 && second%20 == 0 {
			b.rows[0].cached = 15 * gib
		}
	})
	back, done := of(all, snapshot.GuardCameBack), of(all, snapshot.GuardFlushed)
	if len(done) < 7 || len(done) > 10 || len(back) != len(done) {
		t.Fatalf("%d flushes in three hours, %d came back", len(done), len(back))
	}
	for i, least := range []time.Duration{time.Minute, 5 * time.Minute, 25 * time.Minute, 25 * time.Minute} {
		if gap := done[i+1].Time.Sub(back[i].Time); gap < least || gap > least+time.Minute {
			t.Errorf("flush %d comes %s after the memory came back, want %s", i+1, gap, least)
		}
	}
}

// Memory that a process takes within a minute of a flush came back; what it takes later did not.
func TestMemoryThatIsTakenLaterHasStayedFree(t *testing.T) {
	for after, want := range map[time.Duration]int{returnTime: 1, returnTime + time.Second: 0} {
		b := newBox(&row{allocated: 60 * gib, cached: 15 * gib})
		e := New(rooms(Act), alice)
		for len(of(b.run(e, 1, nil), snapshot.GuardFlushed)) == 0 {
		}
		b.run(e, int(after.Seconds())-1, nil)
		b.rows[0].cached = 15 * gib
		if back := of(b.run(e, 10, nil), snapshot.GuardCameBack); len(back) != want {
			t.Errorf("taken %s after the flush: %v", after, back)
		}
	}
}

// Memory came back if a process takes half of what a flush freed, and at least half of minFlush.
func TestMemoryThatCameBack(t *testing.T) {
	worth := minFlushOn(80 * gib)
	for _, c := range []struct {
		cached, freed, taken quantity.Bytes
		want                 int
	}{
		{15 * gib, 14 * gib, 7 * gib, 1}, {15 * gib, 14 * gib, 7*gib - 1, 0},
		{worth, minFlush - 2, minFlush / 2, 1}, {worth, minFlush - 2, minFlush/2 - 1, 0},
	} {
		r := &row{allocated: 75*gib - c.cached, cached: c.cached}
		b, e, back := newBox(r), New(rooms(Act), alice), 0
		for range 60 {
			for _, d := range e.Decide(b.snapshot()) {
				switch d.Kind {
				case snapshot.GuardActs:
					e.Finished(d, Outcome{Time: b.now, Driver: known(c.freed)})
					r.cached = c.cached - c.freed + c.taken
				case snapshot.GuardCameBack:
					back++
				}
			}
		}
		if back != c.want {
			t.Errorf("of %d bytes %d: %d times", c.freed, c.taken, back)
		}
	}
}

// A flush that frees less than a tenth of what was expected counts towards the circuit breaker.
func TestFlushThatFreesLittle(t *testing.T) {
	for freed, want := range map[quantity.Bytes]int{gib: 0, gib - 1: 1} {
		b, e := newBox(&row{allocated: 65 * gib, cached: 10 * gib}), New(rooms(Act), alice)
		var acts []Decision
		for len(acts) == 0 {
			acts = of(e.Decide(b.snapshot()), snapshot.GuardActs)
		}
		e.Finished(acts[0], Outcome{Time: b.now, Driver: known(freed)})
		if got := e.Keep().Rules["room"][alice.UID].Failures; got != want {
			t.Errorf("%d bytes of %s: %d failures", freed, acts[0].Expected.Or(0), got)
		}
	}
}

func TestCircuitBreaker(t *testing.T) {
	rows := []*row{}
	for range 5 {
		rows = append(rows, &row{allocated: 12 * gib, cached: 3 * gib})
	}
	b := newBox(rows...)
	e := New(rooms(Act), alice)
	var all []Decision
	for range 300 {
		for _, d := range e.Decide(b.snapshot()) {
			all = append(all, d)
			if d.Kind == snapshot.GuardActs {
				all = append(all, e.Finished(d, Outcome{Time: b.now, Freed: 3 * gib, Driver: known(0)})...)
			}
		}
	}
	if acts, tripped := of(all, snapshot.GuardActs), of(all, snapshot.GuardTripped); len(acts) != 3 || len(tripped) != 1 {
		t.Fatalf("%d actions, tripped %d times", len(acts), len(tripped))
	}
	if off := e.State().Rules[0].Off; !strings.Contains(off, "less than a tenth") {
		t.Errorf("the rule is off because of %q", off)
	}
}

// The flusher samples while it flushes. At the end of a flush, the newest snapshot already shows the
// freed memory, and nothing has come back.
func TestSampleDuringTheFlushIsNoReturn(t *testing.T) {
	b := newBox(&row{allocated: 60 * gib, cached: 15 * gib})
	e := New(rooms(Act), alice)
	var all []Decision
	for range 120 {
		for _, d := range e.Decide(b.snapshot()) {
			all = append(all, d)
			if d.Kind == snapshot.GuardActs {
				o := b.flush(d)
				all = append(all, e.Decide(b.snapshot())...)
				o.Time = b.now
				all = append(all, e.Finished(d, o)...)
			}
		}
	}
	if len(of(all, snapshot.GuardFlushed)) != 1 || len(of(all, snapshot.GuardCameBack)) != 0 {
		t.Errorf("%v", all)
	}
}
