package guard

import (
	"strings"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

var root = Owner{Root: true}

// forAll returns rooms for any user's processes.
func forAll(importance ...Importance) Policy {
	p := rooms(Act, importance...)
	p.Rules[0].Users = All
	return p
}

// A user's flushes that free nothing turn the rule off only for that user, even if the user is root.
func TestCircuitBreakerOfAUser(t *testing.T) {
	for liar, uid := range map[string]uint32{"bob": 1001, "root": root.UID} {
		honest := &row{user: "carol", uid: 1002, command: "honest", allocated: 20 * gib, cached: 8 * gib}
		rows := []*row{honest}
		for range 4 {
			rows = append(rows, &row{user: liar, uid: uid, command: "lies", allocated: 9 * gib, cached: 3 * gib})
		}
		b := newBox(rows...)
		b.host = "root"
		p := forAll(Importance{Command: "lies", Value: -500})
		p.Rules[0].Goal = percent(30)
		e := New(p, root)
		var all []Decision
		for range 300 {
			for _, d := range e.Decide(b.snapshot()) {
				all = append(all, d)
				if d.Kind != snapshot.GuardActs {
					continue
				}
				o := Outcome{Time: b.now, Freed: 3 * gib, Driver: known(0)}
				if d.Row == honest.id() {
					o = b.flush(d)
				}
				all = append(all, e.Finished(d, o)...)
			}
		}
		lies, tripped := 0, of(all, snapshot.GuardTripped)
		for _, d := range of(all, snapshot.GuardFlushed) {
			if d.User == liar {
				lies++
			}
		}
		if lies != tripAfter || len(tripped) != 1 || tripped[0].User != liar || honest.cached > 0 {
			t.Errorf("%d flushes free nothing, carol still caches %s: %v", lies, honest.cached, all)
		}
		if off := e.State().Rules[0].Off; !strings.HasPrefix(off, "for "+liar+": 3 actions") {
			t.Errorf("the rule is off %q", off)
		}
		for _, s := range e.State().Standings {
			if off := s.Row != honest.id(); off != strings.Contains(s.Reason, "turned off") {
				t.Errorf("PID %d: %q", s.Row.Process.PID, s.Reason)
			}
		}
	}
}

// A repeated flush of a process costs its user a token. If a user has none, the next user's process is
// flushed.
func TestRepeatedFlushesOfAUser(t *testing.T) {
	for uid, want := range map[uint32]string{1001: "", 1002: "101 "} {
		b := newBox(
			&row{user: "bob", uid: 1001, command: "greedy", allocated: 60 * gib, cached: 6 * gib},
			&row{user: "carol", uid: uid, command: "honest", cached: 8 * gib})
		b.host = "root"
		e := New(forAll(Importance{Command: "greedy", Value: -500}), root)
		b.run(e, 20, nil)
		for _, r := range b.rows {
			e.traces[r.id()].flushes = 1
		}
		e.stateOf(slot{snapshot.Place{GPUUUID: uuid}, 1001}).tokens = -1 // bob has no token for two minutes
		if got := pids(of(b.run(e, 60, nil), snapshot.GuardFlushed)); got != want {
			t.Errorf("beside user %d's: flushed %q, want %q", uid, got, want)
		}
	}
}

// Users with something to free have equal shares of the actions a minute, even before they may be
// flushed; a user who has nothing that can be flushed leaves the share to the others.
func TestLimitIsShared(t *testing.T) {
	for others, want := range map[int]int{0: 6, 1: 3, 2: 2, 7: 1} {
		rows := []*row{}
		for range 10 {
			rows = append(rows, &row{user: "bob", uid: 1001, allocated: gib, cached: 3 * gib})
		}
		rows = append(rows, &row{user: "dave", uid: 1003, allocated: gib}, &row{user: "erin", uid: 1004, cached: 3 * gib, probe: &snapshot.Probe{State: snapshot.ProbeSilent}})
		for i := range others {
			rows = append(rows, &row{user: "carol", uid: uint32(2000 + i), started: newBox().now, allocated: gib, cached: 3 * gib})
		}
		b := newBox(rows...)
		b.host = "root"
		p := forAll()
		p.Rules[0].When.FreeBelow, p.Rules[0].Goal = percent(98), percent(99)
		e := New(p, root)
		bobs := 0
		for _, d := range of(b.run(e, 59, nil), snapshot.GuardFlushed) {
			if d.User == "bob" {
				bobs++
			}
		}
		if bobs != want {
			t.Errorf("beside %d others %d of bob's are flushed in a minute, want %d", others, bobs, want)
		}
	}
}

// In generated courses, a user has at most one flush under way on a GPU, and all users together have at
// most the policy's actions a minute.
func TestPropertiesOfSeveralUsers(t *testing.T) {
	acts := 0
	for seed := range uint64(60) {
		c := newCourse(seed)
		for i, r := range c.box.rows {
			r.user, r.uid = "user", uint32(1000+i%3)
		}
		c.box.host = "root"
		c.policy.Rules[0].Users = All
		e := New(c.policy, root)
		ends := map[int]time.Time{} // of the flushes under way, by pid
		byPID := map[int]Decision{}
		var actions []time.Time
		for second := range 900 {
			c.step(second)
			for pid, end := range ends {
				if end.After(c.box.now) {
					continue
				}
				d := byPID[pid]
				o := c.box.flush(d)
				switch c.random.IntN(4) {
				case 0:
					o = Outcome{Time: c.box.now, Refused: "no answer in time"}
				case 1:
					o.Freed, o.Driver = 0, known(0)
				}
				delete(ends, pid)
				e.Finished(d, o)
			}
			snap := c.box.snapshot()
			for _, d := range of(e.Decide(snap), snapshot.GuardActs) {
				acts++
				actions = append(actions, d.Time)
				for pid := range ends {
					if other := snap.Row(byPID[pid].Row); other != nil && ownerOf(other) == ownerOf(snap.Row(d.Row)) && c.box.now.Sub(byPID[pid].Time) < actionTimeout {
						t.Errorf("seed %d: PID %d and PID %d of one user are flushed at a time", seed, pid, d.Row.Process.PID)
					}
				}
				ends[d.Row.Process.PID] = c.box.now.Add(time.Duration(c.random.IntN(20)) * time.Second)
				byPID[d.Row.Process.PID] = d
			}
		}
		within(t, seed, "actions", actions, c.policy.MaxPerMinute)
	}
	if acts < 50 {
		t.Errorf("only %d actions", acts)
	}
}
