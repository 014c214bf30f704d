package guard

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// A program is left alone while it may load, and for a minute after its cache was emptied by others.
func TestProgramIsLeftAloneForAMinute(t *testing.T) {
	for reason, change := range map[string]func(b *box, e *Engine, r *row){
		"it has just started": func(b *box, e *Engine, r *row) {
			r.started = b.now.Add(time.Second)
			b.run(e, 1, nil)
		},
		"its cache was emptied": func(b *box, e *Engine, r *row) {
			b.run(e, 30, nil)
			r.cached = 0
			b.run(e, 1, nil)
			r.cached = 20 * gib
		},
	} {
		r := &row{allocated: 40 * gib, cached: 20 * gib}
		b := newBox(r)
		e := New(rooms(Act), alice)
		change(b, e, r)
		b.run(e, 59, nil)
		if got := e.State().Standings[0].Reason; !strings.HasPrefix(got, reason) {
			t.Errorf("after 59 seconds: %q, want %q", got, reason)
		}
		b.run(e, 1, nil)
		if got := e.State().Standings[0].Reason; got != "" {
			t.Errorf("after 60 seconds: %q", got)
		}
	}
}

// A row whose allocated or returnable memory is unknown is not flushed.
func TestRowWithUnknownFiguresIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*snapshot.Process){
		"allocated": func(p *snapshot.Process) { p.Allocated = snapshot.Bytes{} }, "returnable": func(p *snapshot.Process) { p.Returnable = snapshot.Bytes{} },
	} {
		b, e := newBox(&row{allocated: 40 * gib, cached: 20 * gib}), New(rooms(Act), alice)
		snap := b.snapshot()
		change(&snap.Rows[0])
		e.Decide(snap)
		if got := e.State().Standings[0].Reason; got != "its figures are unknown" {
			t.Errorf("without %s: %q", name, got)
		}
	}
}

// Root's guard, and that of a simulated box, may ask the probes of all users: a process without one is not
// left alone because of its user.
func TestReasonForAProcessWithoutAProbe(t *testing.T) {
	for name, c := range map[string]struct {
		owner     Owner
		simulated bool
		want      string
	}{"root's": {root, false, "PID 100 has no probe"}, "simulated": {alice, true, "PID 100 has no probe"}, "a user's": {alice, false, "another user's process"}} {
		b, e := newBox(&row{user: "bob", uid: 1001}), New(forAll(), c.owner)
		snap := b.snapshot()
		snap.Simulated, snap.Rows[0].Probe = c.simulated, nil
		e.Decide(snap)
		if got := e.State().Standings[0].Reason; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Memory that a program needs again is only freed by an urgent flush, unless its own caches are
// worth a flush.
func TestOwnCachesAreWorthAFlush(t *testing.T) {
	worth := minFlushOn(80 * gib)
	for evictable, want := range map[quantity.Bytes]string{worth: "", worth - 1: "it needs again what it caches: urgent only"} {
		r := &row{allocated: 60 * gib, evictable: evictable}
		b := newBox(r)
		e := New(rooms(Act), alice)
		b.run(e, 1, nil)
		r.allocated, r.cached = 50*gib, 10*gib
		b.run(e, 60, nil)
		if got := e.State().Standings[0].Reason; got != want {
			t.Errorf("%s of its own caches: %q, want %q", evictable, got, want)
		}
	}
}
