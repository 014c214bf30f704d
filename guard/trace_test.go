package guard

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// A cache was emptied by others if most of a large cache becomes free at once, and is not allocated
// instead.
func TestCacheThatWasEmptied(t *testing.T) {
	for _, c := range []struct {
		before, after, taken quantity.Bytes
		want                 bool
	}{
		{minFlush, 0, 0, true},
		{minFlush - 1, 0, 0, false},
		{20 * gib, 5*gib - 1, 0, true},
		{20 * gib, 5 * gib, 0, false},
		{20 * gib, 0, 10 * gib, true},
		{20 * gib, 0, 10*gib + 1, false},
	} {
		r := &row{allocated: 20 * gib, cached: c.before}
		b := newBox(r)
		e := New(rooms(Act), alice)
		b.run(e, 60, nil)
		r.cached, r.allocated = c.after, r.allocated+c.taken
		b.run(e, 1, nil)
		r.cached = 25 * gib
		b.run(e, 30, nil)
		if got := strings.HasPrefix(e.State().Standings[0].Reason, "its cache was emptied"); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// A cache whose size is no longer known was not emptied.
func TestUnknownCacheWasNotEmptied(t *testing.T) {
	for cached, want := range map[snapshot.Bytes]bool{known(0): true, {}: false} {
		var tr trace
		now := newBox().now
		tr.add(now, &snapshot.Process{Allocated: known(gib), Cached: known(20 * gib)})
		if tr.add(now, &snapshot.Process{Allocated: known(gib), Cached: cached}); tr.emptied.IsZero() == want {
			t.Errorf("cached %v: emptied at %v", cached, tr.emptied)
		}
	}
}

// If a probe shows an empty cache within three seconds after a flush, this guard emptied the cache;
// later, others did.
func TestOwnFlushIsNotOthers(t *testing.T) {
	for late, want := range map[time.Duration]string{settleTime: "", settleTime + time.Second: "its cache was emptied"} {
		r := &row{allocated: 60 * gib, cached: 15 * gib}
		b := newBox(r)
		e := New(rooms(Act), alice)
		var acts []Decision
		for len(acts) == 0 {
			acts = of(e.Decide(b.snapshot()), snapshot.GuardActs)
		}
		e.Finished(acts[0], Outcome{Time: b.now, Freed: 15 * gib, Driver: known(15 * gib)})
		for second := time.Second; second <= returnTime+time.Second; second += time.Second {
			if second == late {
				r.cached = 0
			} else if second > late {
				r.cached = 7 * gib
			}
			snap := b.snapshot()
			if second < late {
				snap.Rows[0].Used = known(60 * gib) // the driver shows it at once
			}
			e.Decide(snap)
		}
		if got := e.State().Standings[0].Reason; (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s late: %q, want %q", late, got, want)
		}
	}
}

// A program is taking memory if it uses more than in the last ten seconds, by more than the driver's tolerance.
func TestProgramThatTakesMemory(t *testing.T) {
	off := snapshot.Tolerance(gib)
	for more, want := range map[quantity.Bytes]string{off: "", off + 1: "it is taking memory"} {
		r := &row{allocated: gib / 2, cached: gib / 2}
		b := newBox(r)
		e := New(rooms(Act), alice)
		b.run(e, 60, nil)
		r.allocated += more
		for second := range 12 {
			if second >= 10 {
				want = "" // it uses no more than ten seconds before
			}
			b.run(e, 1, nil)
			if got := e.State().Standings[0].Reason; got != want {
				t.Errorf("%s more, after %d s: %q, want %q", more, second, got, want)
			}
		}
	}
}
