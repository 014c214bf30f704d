package guard

import (
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// A rescue may flush a process that rules leave alone: back-offs and the limit on repeated flushes do
// not apply.
func TestRescueAsksProcessesThatRulesLeaveAlone(t *testing.T) {
	asker := &row{command: "train.py", allocated: 40 * gib}
	giver := &row{command: "test.py", allocated: 5 * gib, cached: 30 * gib}
	b := newBox(asker, giver)
	e := New(rooms(Act, Importance{Command: "train.py", Value: 500}), alice)
	all := b.run(e, 40, func(second int) {
		if second%5 == 0 {
			giver.cached = 30 * gib
		}
	})
	if len(of(all, snapshot.GuardCameBack)) == 0 || e.traces[giver.id()].waits(e.now, b.row(giver)) == "" {
		t.Fatal("the rule does not leave the process alone")
	}
	for i := range 3 {
		decisions := of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}), snapshot.GuardActs)
		if len(decisions) != 1 || decisions[0].Row != giver.id() {
			t.Fatalf("rescue %d: %+v", i, decisions)
		}
		e.Finished(decisions[0], b.flush(decisions[0]))
		giver.cached = 30 * gib
		b.now = b.now.Add(5 * time.Second)
	}
}

// A user's guard frees nothing for another user's process; root's guard does.
func TestRescueOfAnotherUsersProcess(t *testing.T) {
	for owner, want := range map[Owner]int{alice: 0, {UID: 0, Root: true}: 1} {
		asker := &row{command: "train.py", allocated: 40 * gib, user: "bob", uid: 1001}
		b := newBox(asker, &row{command: "test.py", allocated: 5 * gib, cached: 30 * gib})
		p := rooms(Act, Importance{Command: "train.py", Value: 500})
		p.Rules[0].When.FreeBelow, p.Rules[0].Users = percent(1), All
		e := New(p, owner)
		b.run(e, 30, nil)
		if acts := of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}), snapshot.GuardActs); len(acts) != want {
			t.Errorf("%+v: %d flushes, want %d", owner, len(acts), want)
		}
	}
}

// A rescue needs no rule. Without one, root's guard makes only those processes of other users free
// memory that [[guard.importance]] names, and decides nothing but rescues.
func TestRescueNeedsNoRule(t *testing.T) {
	for name, tc := range map[string]struct {
		owner Owner
		uid   uint32 // of the giver
		entry Importance
		want  int
	}{
		"one's own":                     {alice, alice.UID, Importance{Command: "train.py", Value: 500}, 1},
		"another's, not root's guard":   {alice, 1001, Importance{User: "*", Value: -1}, 0},
		"another's, named":              {root, 1001, Importance{Command: "test.py", Value: -1}, 1},
		"another's, not named":          {root, 1001, Importance{Command: "train.py", Value: 500}, 0},
		"another's, named as protected": {root, 1001, Importance{Command: "test.py", Value: -1, Protect: true}, 0},
	} {
		asker := &row{command: "train.py", allocated: 40 * gib}
		b := newBox(asker, &row{command: "test.py", allocated: 5 * gib, cached: 34 * gib, user: "someone", uid: tc.uid})
		e := New(Policy{Mode: Act, Importance: []Importance{tc.entry}}, tc.owner)
		if all := b.run(e, 60, nil); len(all) > 0 {
			t.Errorf("%s: without being asked: %v", name, all)
		}
		if acts := of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}), snapshot.GuardActs); len(acts) != tc.want {
			t.Errorf("%s: %d flushes, want %d", name, len(acts), tc.want)
		}
	}
}

// An equally important process frees memory for another only if both are the same user's. A more
// important one never does.
func TestRescueByProcessesThatAreAsImportant(t *testing.T) {
	for _, c := range []struct{ asker, giver, want int }{{0, 0, 1}, {300, 300, 1}, {300, 299, 1}, {300, 301, 0}} {
		for _, uid := range []uint32{alice.UID, 1001} {
			asker := &row{command: "train.py", allocated: 40 * gib}
			b := newBox(asker, &row{command: "test.py", allocated: 5 * gib, cached: 34 * gib, user: "someone", uid: uid})
			e := New(Policy{Mode: Act, Importance: []Importance{{Command: "train.py", Value: c.asker}, {Command: "test.py", Value: c.giver}}}, root)
			b.run(e, 60, nil)
			want := c.want
			if uid != alice.UID && c.asker == c.giver {
				want = 0
			}
			if acts := of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, UID: alice.UID, GPUUUID: uuid, Bytes: 10 * gib}), snapshot.GuardActs); len(acts) != want {
				t.Errorf("%+v, user %d: %d flushes, want %d", c, uid, len(acts), want)
			}
		}
	}
}

// To the kernel, root may be the same user in all containers. Only processes of one job are equals then.
func TestRescueOfRootInContainers(t *testing.T) {
	for name, want := range map[string]int{"train-0": 1, "another": 0} {
		asker := &row{command: "train.py", allocated: 40 * gib, user: "root", job: process.Job{Kind: "pod", ID: "train-0"}}
		b := newBox(asker, &row{command: "test.py", allocated: 5 * gib, cached: 34 * gib, user: "root", job: process.Job{Kind: "pod", ID: name}})
		e := New(Policy{Mode: Act}, root)
		b.run(e, 60, nil)
		if acts := of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}), snapshot.GuardActs); len(acts) != want {
			t.Errorf("beside %s: %d flushes, want %d", name, len(acts), want)
		}
	}
}

// A rescue keeps to the policy's limit of actions a minute.
func TestRescueKeepsToLimitAMinute(t *testing.T) {
	asker := &row{command: "train.py", allocated: 40 * gib}
	giver := &row{command: "test.py", allocated: 5 * gib, cached: 30 * gib}
	b := newBox(asker, giver)
	p := rooms(Act, Importance{Command: "train.py", Value: 500})
	p.Rules[0].When.FreeBelow, p.MaxPerMinute = percent(1), 3
	e := New(p, alice)
	b.run(e, 30, nil)
	rescued := 0
	for range 10 {
		for _, d := range of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}), snapshot.GuardActs) {
			rescued++
			e.Finished(d, b.flush(d))
			giver.cached = 30 * gib
		}
	}
	if rescued != 3 {
		t.Errorf("%d rescues in ten seconds", rescued)
	}
	b.run(e, 61, nil)
	if len(of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}), snapshot.GuardActs)) != 1 {
		t.Error("none a minute later")
	}
}

// A rescue takes no more than is missing: it spares a program's own caches, and other programs.
func TestRescueTakesWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		cached, evictable, missing quantity.Bytes // the first two of each of two givers; missing for the asker
		want                       string
	}{
		{10 * gib, 20 * gib, 10 * gib, "gradual "},
		{10 * gib, 20 * gib, 10*gib + 1, "selective "},
		{10 * gib, minFlush, 10*gib + 1, "selective "},
		{10 * gib, minFlush - 1, 10*gib + 1, "gradual gradual "},
		{10 * gib, 0, 20 * gib, "gradual gradual "},
		{10 * gib, 0, 20*gib + 1, ""},
		{10 * gib, 0, 0, "gradual "}, // an allocation fails for want of a large block, too
		{minFlush, 0, 1, "gradual "},
		{minFlush - 1, 0, 1, ""},
	} {
		asker := &row{command: "train.py", allocated: 10 * gib}
		b := newBox(asker, &row{command: "a", allocated: 20 * gib, cached: c.cached, evictable: c.evictable}, &row{command: "b", allocated: 20 * gib, cached: c.cached, evictable: c.evictable})
		e := New(Policy{Mode: Act, Importance: []Importance{{Command: "train.py", Value: 500}}}, alice)
		b.run(e, 60, nil)
		got := ""
		for _, d := range of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: b.total - b.used() + c.missing}), snapshot.GuardActs) {
			got += d.Level + " "
		}
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// Memory that a program needs again within seconds is not freed: its own next allocation would
// fail.
func TestRescueTakesNothingThatIsNeededAtOnce(t *testing.T) {
	asker := &row{command: "train.py", allocated: 60 * gib}
	giver := &row{command: "test.py", allocated: gib, cached: 14 * gib}
	b := newBox(asker, giver)
	p := rooms(Act, Importance{Command: "train.py", Value: 500})
	p.Rules[0].When.FreeBelow = percent(1)
	e := New(p, alice)
	ask := Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}
	b.run(e, 60, func(second int) {
		giver.allocated, giver.cached = giver.cached, giver.allocated // a step of two seconds
	})
	if d := e.Rescue(b.snapshot(), ask); len(of(d, snapshot.GuardActs)) > 0 {
		t.Errorf("a working process gives: %+v", d)
	}
	giver.allocated, giver.cached = gib, 14*gib
	b.run(e, 20, nil) // the program has stopped its steps
	if d := e.Rescue(b.snapshot(), ask); len(of(d, snapshot.GuardActs)) != 1 {
		t.Errorf("an idle process gives nothing: %+v", d)
	}
}

// A program may take its memory again before the next snapshot shows that it was free.
func TestMemoryThatIsBackAtTheNextSnapshotCameBack(t *testing.T) {
	working := &row{command: "train.py", allocated: 60 * gib, cached: 15 * gib}
	b := newBox(working)
	e := New(rooms(Act), alice)
	all := b.run(e, 3600, func(int) { working.cached = 15 * gib })
	flushes, back := len(of(all, snapshot.GuardFlushed)), len(of(all, snapshot.GuardCameBack))
	if flushes == 0 || flushes > 6 || back != flushes {
		t.Errorf("%d flushes in an hour, of which %d came back", flushes, back)
	}
}

// A rescue waits for a flush of the same GPU that is under way, but not for one of a user
// who fails.
func TestUnderWay(t *testing.T) {
	asker, giver := &row{command: "train.py", allocated: 40 * gib}, &row{command: "test.py", allocated: 5 * gib, cached: 30 * gib}
	b := newBox(asker, giver)
	p := rooms(Act, Importance{Command: "train.py", Value: 500})
	p.Rules[0].When.FreeBelow = percent(1)
	e := New(p, alice)
	b.run(e, 30, nil)
	if e.UnderWay(uuid) {
		t.Error("before a flush")
	}
	acts := of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}), snapshot.GuardActs)
	if len(acts) != 1 || !e.UnderWay(uuid) || e.UnderWay("GPU-1") {
		t.Fatalf("during it: %v, on another GPU: %v: %+v", e.UnderWay(uuid), e.UnderWay("GPU-1"), acts)
	}
	e.Late(acts[0])
	if e.UnderWay(uuid) {
		t.Error("one that is late")
	}
	e.Finished(acts[0], b.flush(acts[0]))
	if e.now = e.now.Add(2 * failingTime); e.UnderWay(uuid) {
		t.Error("after it")
	}
}

// A rescue flushes no more processes than are needed, none twice for one failed allocation,
// and none on a GPU that is lost or in another MIG instance.
func TestRescueTakesNoMoreThanNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		bytes  quantity.Bytes
		change func(*snapshot.Snapshot)
		tried  []int // of rows
		want   string
	}{
		"one is enough":           {bytes: 10 * gib, want: "101 "},
		"two are needed":          {bytes: 20 * gib, want: "101 102 "},
		"one was tried":           {bytes: 10 * gib, tried: []int{1}, want: "102 "},
		"none is left":            {bytes: 14 * gib, tried: []int{1, 2}},
		"a lost GPU":              {bytes: 10 * gib, change: func(s *snapshot.Snapshot) { s.GPUs[0].State = snapshot.GPULost }},
		"in another instance":     {bytes: 10 * gib, change: func(s *snapshot.Snapshot) { s.Rows[1].ID.Instance.MIG = true }, want: "102 "},
		"a GPU that is not there": {bytes: 10 * gib, change: func(s *snapshot.Snapshot) { s.GPUs = nil }},
	} {
		asker := &row{command: "train.py", allocated: 52 * gib}
		b := newBox(asker, &row{command: "test.py", cached: 10 * gib}, &row{command: "test.py", cached: 10 * gib})
		p := rooms(Act, Importance{Command: "train.py", Value: 500})
		p.Rules[0].When.FreeBelow = percent(1)
		e := New(p, alice)
		var snap *snapshot.Snapshot
		for range 90 {
			snap = b.snapshot()
			if c.change != nil {
				c.change(snap)
			}
			e.Decide(snap)
		}
		ask := Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: c.bytes}
		var tried []snapshot.RowID
		for _, i := range c.tried {
			tried = append(tried, b.rows[i].id())
		}
		if got := pids(of(e.Rescue(snap, ask, tried...), snapshot.GuardActs)); got != c.want {
			t.Errorf("%s: %q is flushed, want %q", name, got, c.want)
		}
	}
}

// A rescue asks only processes of the guard's newest snapshot.
func TestRescueAsksNoProcessThatIsNew(t *testing.T) {
	for _, before := range []bool{false, true} {
		asker, giver := &row{command: "train.py", allocated: 40 * gib}, &row{command: "test.py", allocated: 5 * gib, cached: 30 * gib, gone: !before}
		b, e := newBox(asker, giver), New(Policy{Mode: Act}, alice)
		b.run(e, 30, nil)
		giver.gone = true
		b.run(e, 1, nil)
		giver.gone = false
		if acts := of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, UID: alice.UID, GPUUUID: uuid, Bytes: 10 * gib}), snapshot.GuardActs); len(acts) != 0 {
			t.Errorf("seen before: %t: %v", before, acts)
		}
	}
}

// A flush that was withdrawn does not count: the process may be flushed at once.
func TestWithdrawnFlushDoesNotCount(t *testing.T) {
	asker, giver := &row{command: "train.py", allocated: 40 * gib}, &row{command: "test.py", allocated: 5 * gib, cached: 30 * gib}
	b := newBox(asker, giver)
	p := rooms(Act, Importance{Command: "train.py", Value: 500})
	p.Rules[0].When.FreeBelow, p.MaxPerMinute = percent(1), 1
	e := New(p, alice)
	b.run(e, 30, nil)
	ask := Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}
	for range 3 {
		acts := of(e.Rescue(b.snapshot(), ask), snapshot.GuardActs)
		if len(acts) != 1 {
			t.Fatalf("%d flushes; the limit is 1 a minute, and none was made", len(acts))
		}
		e.Withdraw(acts[0])
		e.Withdraw(acts[0]) // no more than once
	}
	if rows := e.Keep().Rows; len(rows) != 0 {
		t.Errorf("rows that were flushed: %+v", rows)
	}
	e.Withdraw(Decision{}) // of no row that is known
	acts := of(e.Rescue(b.snapshot(), ask), snapshot.GuardActs)
	e.Finished(acts[0], b.flush(acts[0]))
	e.Withdraw(acts[0]) // the flush was made
	if rows := e.Keep().Rows; len(rows) != 1 || rows[0].Flushes != 1 {
		t.Errorf("of one row that was flushed: %+v", rows)
	}
	if again := of(e.Rescue(b.snapshot(), ask), snapshot.GuardActs); len(again) != 0 {
		t.Errorf("beyond the limit: %v", again)
	}
}
