package guard

import (
	"encoding/json"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

// A pause, a back-off, the failures of a rule and the needs of programs survive the daemon's SIGHUP.
func TestKeptOverARestart(t *testing.T) {
	b := newBox(&row{allocated: 59 * gib, cached: 15 * gib}, &row{allocated: gib})
	old := New(rooms(Act), alice)
	all := b.run(old, 200, func(int) { b.rows[0].cached = 15 * gib }) // the row's cache grows again, even after the first back-off
	if len(of(all, snapshot.GuardCameBack)) != 2 {
		t.Fatalf("%v", all)
	}
	old.rules[0][alice.UID] = KeptRule{Failures: 2}
	old.failing[7] = b.now.Add(time.Hour)
	old.Pause(b.now.Add(30 * time.Second))
	var kept Kept
	if content, err := json.Marshal(old.Keep()); err != nil || json.Unmarshal(content, &kept) != nil {
		t.Fatal(err)
	}
	if len(kept.Rows) != 1 {
		t.Errorf("of one row that was flushed %+v is kept", kept.Rows)
	}
	next := New(rooms(Act), alice)
	next.TakeOver(kept, b.now)
	if !next.State().Paused.Equal(old.paused) || next.rules[0][alice.UID].Failures != 2 || len(next.rules[0]) != 1 || !next.failing[7].Equal(old.failing[7]) {
		t.Errorf("%+v", next.State())
	}
	for key, was := range old.runs {
		if is := next.runs[key]; is == nil || is.Needs != was.Needs || is.Owner != was.Owner || !is.Seen.Equal(was.Seen) {
			t.Errorf("of %+v it knows %+v, before %+v", key, is, was)
		}
	}
	if len(old.runs) == 0 || len(next.runs) != len(old.runs) {
		t.Errorf("%d programs are known, before %d", len(next.runs), len(old.runs))
	}
	until := old.traces[b.rows[0].id()].until
	for _, d := range b.run(next, 600, func(int) { b.rows[0].cached = 15 * gib }) {
		if d.Kind == snapshot.GuardActs && d.Time.Before(until) {
			t.Errorf("flushed at %s, the back-off ends at %s", d.Time, until)
		}
		if d.Kind == snapshot.GuardActs {
			return
		}
	}
	t.Error("it is never flushed again")
}

// A flush that is under way at SIGHUP is not begun again by the next engine within
// actionTimeout, and the limit of actions a minute continues.
func TestFlushUnderWayOverARestart(t *testing.T) {
	b := newBox(&row{allocated: 60 * gib, cached: 15 * gib})
	old := New(rooms(Act), alice)
	var acts []Decision
	for len(acts) == 0 {
		acts = of(old.Decide(b.snapshot()), snapshot.GuardActs)
	}
	policy := rooms(Act)
	policy.MaxPerMinute = 1
	next := New(policy, alice)
	kept := old.Keep()
	next.TakeOver(kept, b.now)
	if len(next.actions) != 1 || next.actions[0].User != alice.UID {
		t.Errorf("the actions of the last minute are %+v, want one of alice", next.actions)
	}
	again := of(b.run(next, 300, nil), snapshot.GuardActs)
	if len(again) == 0 || again[0].Time.Sub(acts[0].Time) < actionTimeout {
		t.Errorf("flushed at %s, and again: %v", acts[0].Time, again)
	}
}

// A program's need is still known after a SIGHUP: it is expected to start again.
func TestNeedsOverARestart(t *testing.T) {
	train := &row{command: "train.py", allocated: 30 * gib}
	notebook := &row{command: "notebook.py", allocated: 5 * gib, cached: 30 * gib}
	b := newBox(train, notebook)
	old := New(demands(Own), alice)
	b.run(old, 5, nil)
	b.fails(train, known(20*gib))
	b.run(old, 2, nil)
	train.gone, b.failed = true, nil
	var kept Kept
	if content, err := json.Marshal(old.Keep()); err != nil || json.Unmarshal(content, &kept) != nil {
		t.Fatal(err)
	}
	next := New(demands(Own), alice)
	next.TakeOver(kept, b.now)
	if all := b.run(next, 120, nil); len(of(all, snapshot.GuardFlushed)) != 1 {
		t.Errorf("%v", all)
	}
}
