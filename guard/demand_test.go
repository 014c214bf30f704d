package guard

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// demands returns a policy that keeps free what programs need, and at least 5 %.
func demands(users Users) Policy {
	return Policy{Mode: Act, Importance: []Importance{{Command: "train.py", Value: 500}, {Command: "low.py", Value: -100}}, Rules: []Rule{{
		Name: "demand", When: When{Demand: true}, Users: users, Goal: percent(5),
	}}}
}

// fails makes the next snapshots report that a row's allocation failed.
func (b *box) fails(r *row, asked snapshot.Bytes) {
	b.failed = append(b.failed, snapshot.Event{
		Time: b.now, Kind: snapshot.EventOutOfMemory, GPUUUID: uuid, Row: r.id(), User: r.user, Name: r.command,
		OutOfMemory: &snapshot.OutOfMemory{Requested: asked, Allocated: known(r.allocated)},
	})
}

// A training that failed is expected to start again, and to need what it had and what it asked for. A
// neighbour that caches enough is flushed before the training starts.
func TestRoomForTheNextRun(t *testing.T) {
	train := &row{command: "train.py", allocated: 30 * gib}
	notebook := &row{command: "notebook.py", allocated: 5 * gib, cached: 35 * gib}
	b := newBox(train, notebook)
	e := New(demands(Own), alice)
	if all := b.run(e, 90, nil); len(all) > 0 {
		t.Fatalf("before anything failed: %v", all)
	}
	b.fails(train, known(20*gib))
	train.gone = true
	all := b.run(e, 60, nil)
	if flushed := of(all, snapshot.GuardFlushed); len(flushed) != 1 || flushed[0].Row != notebook.id() || !strings.Contains(flushed[0].Reason, "important programs will need 55.0G") {
		t.Errorf("after it failed: %v", all)
	}
	notebook.cached = 35 * gib
	if all := b.run(e, 2*int(absentTime.Seconds()), nil); len(of(all, snapshot.GuardFlushed)) > 3 {
		t.Errorf("it does not come back, and %d flushes follow", len(of(all, snapshot.GuardFlushed)))
	}
	notebook.cached = 35 * gib
	if all := b.run(e, 300, nil); len(all) > 0 {
		t.Errorf("it is no longer expected: %v", all)
	}
}

// A program will need again the most that it has had, even if no sample showed that.
func TestRoomForAPeak(t *testing.T) {
	for peak, want := range map[quantity.Bytes]int{40 * gib: 0, 50 * gib: 1} {
		b := newBox(&row{command: "train.py", allocated: 10 * gib, peak: peak}, &row{command: "notebook.py", allocated: 5 * gib, cached: 35 * gib})
		flushed := of(b.run(New(demands(Own), alice), 60, nil), snapshot.GuardFlushed)
		if len(flushed) != want || want > 0 && !strings.Contains(flushed[0].Reason, "30.0G free, important programs will need 40.0G") {
			t.Errorf("30 GiB are free, and it had %s: %v", peak, flushed)
		}
	}
}

// The guard makes room for all important programs together. One that holds more than it needs lends
// nothing to the others.
func TestRoomForAllImportantPrograms(t *testing.T) {
	train, second := &row{command: "train.py", allocated: 20 * gib}, &row{command: "second.py", allocated: 10 * gib}
	b := newBox(&row{unknown: true, allocated: gib}, train, second, &row{command: "third.py", allocated: gib, cached: 3 * gib}, &row{command: "notebook.py", allocated: 5 * gib, cached: 35 * gib})
	policy := demands(Own)
	policy.Importance = append(policy.Importance, Importance{Command: "second.py", Value: 500}, Importance{Command: "third.py", Value: 500})
	e := New(policy, alice)
	b.run(e, 90, nil)
	b.fails(train, known(10*gib))
	b.fails(second, known(10*gib))
	train.gone, second.gone = true, true
	all := b.run(e, 60, nil)
	if flushed := of(all, snapshot.GuardFlushed); len(flushed) != 1 || !strings.Contains(flushed[0].Reason, "important programs will need 60.0G") {
		t.Errorf("both failed: %v", all)
	}
}

// A rule with full_within, of an older configuration, is read as a rule by demand, unless it has another
// condition.
func TestFullWithinIsReadAsDemand(t *testing.T) {
	for when, want := range map[When]int{
		{Demand: true}: 1, {FullWithin: time.Minute}: 1, {FreeBelow: percent(4)}: 0, {FreeBelow: percent(4), FullWithin: time.Minute}: 0,
	} {
		train := &row{command: "train.py", allocated: 30 * gib}
		b := newBox(train, &row{command: "notebook.py", allocated: 5 * gib, cached: 35 * gib})
		policy := demands(Own)
		policy.Rules[0].When = when
		e := New(policy, alice)
		b.run(e, 90, nil)
		b.fails(train, known(20*gib))
		train.gone = true
		if all := b.run(e, 30, nil); len(of(all, snapshot.GuardFlushed)) != want {
			t.Errorf("%+v: %v", when, all)
		}
	}
}

// A program that has ended is expected for ten minutes, and no longer.
func TestProgramThatEndedIsExpectedForAWhile(t *testing.T) {
	for after, want := range map[time.Duration]int{absentTime: 1, absentTime + time.Second: 0} {
		train := &row{command: "train.py", allocated: 30 * gib}
		b := newBox(train, &row{command: "notebook.py", allocated: 5 * gib, cached: 35 * gib})
		e := New(demands(Own), alice)
		b.run(e, 90, nil)
		b.fails(train, known(20*gib))
		train.gone = true
		e.Pause(b.now.Add(after))
		if all := b.run(e, int(after.Seconds())+5, nil); len(of(all, snapshot.GuardFlushed)) != want {
			t.Errorf("after %s: %v", after, all)
		}
	}
}

// The guard does not ask for memory that all processes together could not free.
func TestDemandThatCannotBeMetTakesNothing(t *testing.T) {
	for asked, want := range map[quantity.Bytes]int{5 * gib: 1, 5*gib + 1: 0, 40 * gib: 0} {
		train := &row{command: "train.py", allocated: 30 * gib}
		b := newBox(train, &row{command: "notebook.py", allocated: 40 * gib, cached: 5 * gib})
		e := New(demands(Own), alice)
		b.run(e, 90, nil)
		b.fails(train, known(asked))
		train.gone = true
		if all := b.run(e, 60, nil); len(of(all, snapshot.GuardActs)) != want {
			t.Errorf("35 GiB are free, 5 can be freed and %s are needed: %v", 35*gib+asked, all)
		}
	}
}

// For a program that is not important, a less important process frees what it will need again, and
// an equally important one does not.
func TestWhoIsAsImportantKeepsWhatItNeeds(t *testing.T) {
	for command, want := range map[string]int{"notebook.py": 0, "low.py": 1} {
		sweep, other := &row{command: "sweep.py", allocated: 10 * gib}, &row{command: command, allocated: 50 * gib}
		b := newBox(sweep, other)
		e := New(demands(Own), alice)
		b.run(e, 60, nil)
		other.allocated, other.cached = 5*gib, 45*gib
		b.run(e, 30, nil)
		b.fails(sweep, known(30*gib))
		if all := b.run(e, 60, nil); len(of(all, snapshot.GuardFlushed)) != want {
			t.Errorf("%s: %v", command, all)
		}
	}
}

// For a program that is not important, processes of other users free nothing. Those of its own user
// free what stays free.
func TestOnlyItsOwnUserGivesForAnyProgram(t *testing.T) {
	for _, c := range []struct {
		user string
		uid  uint32
		want int
	}{{"alice", 1000, 1}, {"mallory", 1001, 0}} {
		sweep := &row{command: "sweep.py", user: c.user, uid: c.uid, allocated: 10 * gib}
		b := newBox(sweep, &row{command: "notebook.py", user: "alice", uid: 1000, allocated: 5 * gib, cached: 45 * gib})
		e := New(demands(All), Owner{Root: true})
		b.run(e, 90, nil)
		b.fails(sweep, known(30*gib))
		flushed := of(b.run(e, 60, nil), snapshot.GuardFlushed)
		if len(flushed) != c.want || c.want > 0 && !strings.Contains(flushed[0].Reason, "20.0G free, sweep.py will need 35.0G") {
			t.Errorf("%s's: %v", c.user, flushed)
		}
	}
}

// After a failed allocation, another one of the same size is expected, but of at most 1/16 of the GPU.
func TestAnotherAllocationFollowsOneThatFailed(t *testing.T) {
	for asked, want := range map[quantity.Bytes]quantity.Bytes{0: 10 * gib, 2 * gib: 14 * gib, 5 * gib: 20 * gib, 40 * gib: 55 * gib} {
		train := &row{command: "train.py", allocated: 10 * gib}
		b := newBox(train)
		e := New(demands(Own), alice)
		b.run(e, 30, nil)
		b.fails(train, known(asked))
		b.run(e, 3, nil) // the failure is reported more than once
		if got := e.runsOf(programOf(b.row(train))).Needs; got != want {
			t.Errorf("with 10 GiB %s fail: it needs %s, want %s", asked, got, want)
		}
	}
}

// What a program needs on another GPU, or in an instance, is no demand on this GPU.
func TestDemandIsOfItsGPU(t *testing.T) {
	for where, want := range map[snapshot.Place]int{{GPUUUID: uuid}: 1, {GPUUUID: "GPU-9"}: 0, {GPUUUID: uuid, Instance: snapshot.InstanceID{MIG: true}}: 0} {
		b := newBox(&row{command: "notebook.py", allocated: 35 * gib, cached: 35 * gib})
		e := New(demands(All), root)
		b.fails(&row{command: "train.py", user: "alice"}, known(30*gib))
		b.failed[0].GPUUUID, b.failed[0].Row.Instance = where.GPUUUID, where.Instance
		if all := b.run(e, 60, nil); len(of(all, snapshot.GuardFlushed)) != want {
			t.Errorf("an allocation failed on %+v: %v", where, all)
		}
	}
}

// A need for more than all flushes could free is skipped, as is one for what is free. The other program
// gets its memory.
func TestDemandThatNeedsNoFlushHidesNoOther(t *testing.T) {
	for _, c := range []struct {
		liar, honest string
		asks         quantity.Bytes
	}{{"sweep.py", "batch.py", 500 * gib}, {"train.py", "train2.py", 500 * gib}, {"train.py", "batch.py", 500 * gib}, {"train.py", "batch.py", 14 * gib}} {
		liar, honest := &row{command: c.liar, allocated: gib}, &row{command: c.honest, allocated: 10 * gib}
		b := newBox(liar, honest, &row{command: "low.py", allocated: 5 * gib, cached: 45 * gib})
		policy := demands(Own)
		policy.Importance = append(policy.Importance, Importance{Command: "train2.py", Value: 100})
		e := New(policy, alice)
		b.run(e, 90, nil)
		b.fails(liar, known(c.asks))
		b.fails(honest, known(30*gib))
		if all := b.run(e, 60, nil); len(of(all, snapshot.GuardFlushed)) != 1 {
			t.Errorf("%+v: %v", c, all)
		}
	}
}

// An important program never frees memory for another, and a user's own guard frees none for other
// users.
func TestImportantProgramsAreNotFlushedForDemand(t *testing.T) {
	train, other := &row{command: "train.py", allocated: 10 * gib, cached: 50 * gib}, &row{command: "train.py", user: "bob", uid: 1001, allocated: 5 * gib}
	for _, owner := range []Owner{alice, {Root: true}} {
		b := newBox(train, other, &row{command: "low.py", allocated: gib})
		e := New(demands(All), owner)
		b.run(e, 90, nil)
		b.fails(other, known(40*gib))
		if all := b.run(e, 60, nil); len(of(all, snapshot.GuardFlushed)) > 0 {
			t.Errorf("%+v: %v", owner, all)
		}
	}
}

// After a flush only for the goal, whose memory others took again, the rule waits.
func TestFlushesInVainRest(t *testing.T) {
	leak, notebook := &row{command: "leak.py", user: "mallory", uid: 1001, allocated: 30 * gib}, &row{command: "notebook.py", allocated: 5 * gib, cached: 42 * gib}
	b := newBox(leak, notebook)
	e := New(demands(Own), alice)
	all := b.run(e, 3600, func(second int) {
		if room := b.total - b.used(); room > gib && second > 30 {
			leak.allocated += min(gib/2, room)
		}
		if second%300 == 0 { // the leaking program is started again, and the notebook caches again
			leak.allocated, notebook.cached = 30*gib, 42*gib
		}
	})
	if n := len(of(all, snapshot.GuardFlushed)); n == 0 || n > 2 {
		t.Errorf("%d flushes in an hour: %v", n, of(all, snapshot.GuardFlushed))
	}
}

// afterAFlush returns a box right after a flush only for the goal: 2 GiB were free, and 42 are. The
// other process is another user's.
func afterAFlush(t *testing.T) (e *Engine, b *box, notebook, other *row) {
	t.Helper()
	notebook, other = &row{command: "notebook.py", allocated: 5 * gib, cached: 40 * gib}, &row{command: "other.py", user: "mallory", uid: 1001, allocated: 33 * gib}
	b, e = newBox(notebook, other), New(demands(Own), alice)
	all := of(b.run(e, int(watchedLeast.Seconds())+1, nil), snapshot.GuardFlushed)
	if len(all) != 1 || !all[0].Time.Equal(b.now) || !strings.Contains(all[0].Reason, "2.00G free of 80.0G, the rule keeps 5%") {
		t.Fatalf("at %s: %v", b.now, all)
	}
	return e, b, notebook, other
}

// A flush is judged after a minute. If it was in vain, the rule rests for an hour.
func TestTheGoalAloneRestsBeforeItIsPursuedAgain(t *testing.T) {
	e, b, notebook, other := afterAFlush(t)
	began := b.now
	notebook.cached, other.allocated = 15*gib, other.allocated+25*gib
	again := of(b.run(e, 3700, nil), snapshot.GuardFlushed)
	if len(again) != 1 || again[0].Time.Sub(began) != returnTime+goalRests {
		t.Errorf("flushed at %s, and again: %v", began, again)
	}
}

// A flush was in vain if less than half of what it freed is left.
func TestFlushIsVainUnlessHalfOfItIsLeft(t *testing.T) {
	for taken, want := range map[quantity.Bytes]int{20 * gib: 1, 20*gib + 1: 0} {
		e, b, notebook, other := afterAFlush(t)
		other.allocated += taken
		b.run(e, int(returnTime.Seconds())+1, nil)
		notebook.cached = 20 * gib
		if all := of(b.run(e, 30, nil), snapshot.GuardFlushed); len(all) != want {
			t.Errorf("of 40 GiB %s are taken: %d flushes follow: %v", taken, len(all), all)
		}
	}
}

// A flush was in vain, too, if an allocation has failed on its GPU since.
func TestFlushIsVainIfAnAllocationFails(t *testing.T) {
	for name, c := range map[string]struct {
		where snapshot.Place
		after time.Duration // the flush
		want  int           // flushes that follow
	}{
		"on the GPU": {snapshot.Place{GPUUUID: uuid}, time.Second, 0}, "before the flush": {snapshot.Place{GPUUUID: uuid}, -time.Second, 1},
		"on another GPU": {snapshot.Place{GPUUUID: "GPU-9"}, time.Second, 1}, "in an instance": {snapshot.Place{GPUUUID: uuid, Instance: snapshot.InstanceID{MIG: true}}, time.Second, 1},
	} {
		e, b, notebook, other := afterAFlush(t)
		b.failed = []snapshot.Event{{Time: b.now.Add(c.after), GPUUUID: c.where.GPUUUID, Row: snapshot.RowID{Instance: c.where.Instance}, User: "mallory", Name: "other.py", OutOfMemory: &snapshot.OutOfMemory{}}}
		other.allocated += 20 * gib
		b.run(e, int(returnTime.Seconds())+1, nil)
		notebook.cached = 20 * gib
		if all := of(b.run(e, 30, nil), snapshot.GuardFlushed); len(all) != c.want {
			t.Errorf("an allocation fails %s: %d flushes follow: %v", name, len(all), all)
		}
	}
}

// A rule that flushes only for its goal does not take cached memory that its process needs again.
func TestTheGoalAloneTakesWhatStaysFree(t *testing.T) {
	for peak, want := range map[quantity.Bytes]int{50 * gib: 0, 20 * gib: 1} {
		other := &row{command: "other.py", user: "mallory", uid: 1001, allocated: 10 * gib}
		train := &row{command: "train.py", allocated: 10 * gib, cached: 40 * gib, peak: 12 * gib}
		b := newBox(train, other)
		e, flushed := New(demands(Own), alice), 0
		for second := range 120 {
			if second > 30 {
				train.peak = peak
			}
			s := b.snapshot()
			if second > 30 {
				other.allocated = 28 * gib
			}
			for _, d := range e.Decide(s) {
				if d.Kind == snapshot.GuardActs {
					flushed++
				}
			}
		}
		if flushed != want {
			t.Errorf("with a peak of %s: %d flushes, want %d", peak, flushed, want)
		}
	}
}

// A peak between two samples counts like a peak at a sample: memory that is needed again does not
// stay free.
func TestPeakBetweenSamplesIsSeen(t *testing.T) {
	r := &row{command: "train.py", allocated: 10 * gib, cached: 20 * gib, peak: 12 * gib}
	b := newBox(r)
	e := New(rooms(Act), alice)
	e.Decide(b.snapshot())
	for i := range 60 + int(10*time.Minute/time.Second) {
		if i > 30 { // the peak that an allocator reports does not fall again
			r.peak = 25 * gib
		}
		e.Decide(b.snapshot())
		if i == 59 && e.State().Standings[0].Stays.Or(-1) != 5*gib {
			t.Errorf("%s of 20 GiB should stay free", e.State().Standings[0].Stays.Or(-1))
		}
	}
	if stays := e.State().Standings[0].Stays.Or(-1); stays != 20*gib {
		t.Errorf("ten minutes later: %s", stays)
	}
}

// Right after a program has freed memory, the driver may still report it as used. That memory does not
// count as needed outside the allocators.
func TestSkewIsNoNeed(t *testing.T) {
	train := &row{command: "train.py", allocated: 45 * gib}
	notebook := &row{command: "notebook.py"}
	b := newBox(train, notebook)
	policy := demands(Own)
	policy.Importance = []Importance{{Command: "train.py", Value: 500}}
	e := New(policy, alice)
	b.run(e, 60, nil)
	train.allocated, notebook.cached = 0, 44*gib
	skewed := b.snapshot()
	skewed.Rows[0].Used = known(45 * gib) // and Other is unknown
	e.Decide(skewed)
	if all := of(b.run(e, 60, nil), snapshot.GuardFlushed); len(all) != 1 {
		t.Errorf("%d flushes before the training comes again, want 1", len(all))
	}
}

// Memory that a process takes again within seconds is not flushed to make room for a program.
func TestWhatIsNeededAtOnceIsNoRoom(t *testing.T) {
	for period, want := range map[int]bool{2: false, 30: true} {
		train, steps := &row{command: "train.py", allocated: 25 * gib}, &row{command: "steps.py"}
		b := newBox(train, steps)
		policy := demands(Own)
		policy.Importance = []Importance{{Command: "train.py", Value: 500}}
		e := New(policy, alice)
		all := b.run(e, 120, func(second int) {
			switch {
			case second < 30:
			case second%period == 0:
				train.allocated, steps.allocated, steps.cached = 0, 60*gib, 0 // train.py comes again later
			default:
				steps.allocated, steps.cached = 10*gib, 50*gib
			}
		})
		if n := len(of(all, snapshot.GuardFlushed)); n > 0 != want {
			t.Errorf("with a peak each %d s: %d flushes: %v", period, n, all)
		}
	}
}
