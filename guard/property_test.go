package guard

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// course is a generated box, second by second: programs with peaks, leaks and caches. Some are
// protected, another user's, part of a distributed job or without figures.
type course struct {
	box    *box
	kinds  []int
	random *rand.Rand
	policy Policy
	lies   bool // flushes free nothing
}

func newCourse(seed uint64) *course {
	random := rand.New(rand.NewPCG(seed, 1))
	c := &course{random: random, lies: random.IntN(8) == 0}
	left := 80
	for range 1 + random.IntN(7) {
		size := random.IntN(left/2 + 1)
		left -= size
		live := random.IntN(size + 1)
		r := &row{
			command: []string{"train.py", "pytest", "serve", "keep"}[random.IntN(4)], allocated: quantity.Bytes(live) * gib,
			cached: quantity.Bytes(size-live) * gib, evictable: quantity.Bytes(random.IntN(3)) * gib,
		}
		switch random.IntN(8) {
		case 0:
			r.user, r.uid = "bob", 1001
		case 1:
			r.distributed = "WORLD_SIZE=2"
		case 2:
			r.unknown = true
		case 3:
			r.importance = quantity.From(random.IntN(3000)-1500, quantity.System)
		}
		c.kinds = append(c.kinds, random.IntN(5))
		if c.box == nil {
			c.box = newBox(r)
			continue
		}
		c.box.rows = append(c.box.rows, r)
	}
	c.box = newBox(c.box.rows...)
	low := float64(1 + random.IntN(30))
	c.policy = Policy{
		Mode: Act, Every: time.Duration(random.IntN(3)) * time.Second, MaxPerMinute: 1 + random.IntN(8),
		Rules: []Rule{{
			Name: "room", When: When{FreeBelow: percent(low), For: time.Duration(random.IntN(20)) * time.Second}, Users: Own, Goal: percent(low + float64(1+random.IntN(20))),
		}, {
			Name: "demand", When: When{Demand: true}, Users: All, Goal: percent(low + 5),
		}},
		Importance: []Importance{{Command: "keep*", Protect: true}, {Command: "pytest*", Value: -500}, {User: "bob", Value: 100}},
	}
	return c
}

// step advances the programs by a second. They take memory from their cache first, and never more than
// there is.
func (c *course) step(second int) {
	for i, r := range c.box.rows {
		room := c.box.total - c.box.used()
		switch c.kinds[i] {
		case 0: // a peak every minute, which the cache keeps
			switch second % 60 {
			case 10 * i % 60:
				take := min(quantity.Bytes(c.random.IntN(8))*gib, room+r.cached)
				r.allocated, r.cached = r.allocated+take, max(r.cached-take, 0)
			case (10*i + 5) % 60:
				free := min(quantity.Bytes(c.random.IntN(8))*gib, r.allocated)
				r.allocated, r.cached = r.allocated-free, r.cached+free
			}
		case 1: // a leak
			if room > gib/64 {
				r.allocated += gib / 64
			}
		case 2: // a program that comes and goes
			if c.random.IntN(300) == 0 {
				r.gone = !r.gone
			}
		case 3: // memory that comes back at once
			if r.cached == 0 && second%7 == 0 {
				r.cached = min(quantity.Bytes(c.random.IntN(6))*gib, room)
			}
		}
	}
	c.box.blind = c.random.IntN(100) == 0
}

func TestPropertiesOnGeneratedCourses(t *testing.T) {
	acts := 0
	for seed := range uint64(80) {
		c := newCourse(seed)
		e := New(c.policy, alice)
		var actions, repeats []time.Time
		before := map[snapshot.RowID]bool{}
		for second := range 1800 {
			c.step(second)
			snap := c.box.snapshot()
			for _, d := range e.Decide(snap) {
				explains(t, seed, &d)
				if d.Kind != snapshot.GuardActs {
					continue
				}
				acts++
				actions = append(actions, d.Time)
				if before[d.Row] {
					repeats = append(repeats, d.Time)
				}
				before[d.Row] = true
				c.mayBeFlushed(t, seed, snap, &d)
				o := c.box.flush(d)
				if c.lies && o.Refused == "" {
					o.Freed, o.Driver = 0, known(0)
				}
				for _, done := range e.Finished(d, o) {
					explains(t, seed, &done)
				}
			}
		}
		within(t, seed, "actions", actions, c.policy.MaxPerMinute)
		within(t, seed, "repeated flushes on a GPU", repeats, 2) // one, and the token of the minute before
		if len(repeats) > 31 {
			t.Errorf("seed %d: %d repeated flushes in 30 minutes", seed, len(repeats))
		}
		if c.lies && len(actions) > tripAfter*len(c.policy.Rules) {
			t.Errorf("seed %d: %d actions that free nothing", seed, len(actions))
		}
	}
	if acts < 150 {
		t.Errorf("only %d actions on all courses: they guard nothing", acts)
	}
}

// mayBeFlushed checks from the box itself what must be true of a flushed process.
func (c *course) mayBeFlushed(t *testing.T, seed uint64, snap *snapshot.Snapshot, d *Decision) {
	t.Helper()
	g := &snap.GPUs[0]
	free, known := g.Memory.Free.Value()
	for _, r := range c.box.rows {
		if r.id() != d.Row {
			continue
		}
		switch {
		case r.command == "keep", r.uid != alice.UID, r.distributed != "":
			t.Errorf("seed %d: %s, %s, %q is flushed", seed, r.command, r.user, r.distributed)
		case r.unknown || !known:
			t.Errorf("seed %d: a flush with unknown figures", seed)
		case free >= d.Goal.Or(0):
			t.Errorf("seed %d: a flush although %s are free and the goal is %s", seed, free, d.Goal.Or(0))
		case d.Expected.Or(0) < minFlush || d.Expected.Or(0) > r.cached+r.evictable:
			t.Errorf("seed %d: %s expected of %s cached", seed, d.Expected.Or(0), r.cached)
		}
		return
	}
	t.Errorf("seed %d: a flush of an unknown row", seed)
}

// explains asserts that a decision has a reason, and the figures that belong to it.
func explains(t *testing.T, seed uint64, d *Decision) {
	t.Helper()
	ok := d.Reason != "" && d.Message != "" && !d.Time.IsZero()
	switch d.Kind {
	case snapshot.GuardActs, snapshot.GuardWould:
		ok = ok && d.Rule != "" && d.Expected.Known() && d.Free.Known() && d.Goal.Known() && d.Level != "" && d.Row.Process.PID != 0
	case snapshot.GuardCameBack:
		ok = ok && d.Rule != "" && d.Measured.Known() && d.Measured.Or(0) <= d.Expected.Or(0)
	case snapshot.GuardFlushed:
		ok = ok && d.Rule != "" && d.Expected.Known() && d.Measured.Known()
	case snapshot.GuardNothing, snapshot.GuardReached:
		ok = ok && d.Rule != "" && d.Free.Known()
	}
	if !ok {
		t.Errorf("seed %d: it does not explain itself: %+v", seed, d)
	}
}

// within checks that no minute has more than most of the times.
func within(t *testing.T, seed uint64, what string, times []time.Time, most int) {
	t.Helper()
	for i := range times {
		if i >= most && times[i].Sub(times[i-most]) < time.Minute {
			t.Errorf("seed %d: more than %d %s in a minute: %v", seed, most, what, fmt.Sprint(times[i-most:i+1]))
			return
		}
	}
}
