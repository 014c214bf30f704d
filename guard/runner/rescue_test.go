package runner

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vramscope/guard"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// TestRescueTakesWhatIsNeeded: the least important process is flushed first, and no more than needed.
func TestRescueTakesWhatIsNeeded(t *testing.T) {
	b := newBox(guard.Act)
	room, ended, refused := b.rescue(15 * gib) // 5 GiB are free
	if refused != "" || room != (guard.Room{Freed: 15 * gib, Free: 20 * gib}) || len(b.flushed) != 1 || b.flushed[0] != test {
		t.Fatalf("%+v, refused %q, flushed %d", room, refused, b.flushed)
	}
	ended(guard.RescueOutcome{Known: true, Succeeded: true, Waited: 38 * time.Millisecond})
	b.event(t, snapshot.EventRescued, "15.0G succeeded after 38ms", "15.0G by 102 test.py")
}

// TestRescueTakesNothingInVain: if the caches are not enough, nothing is flushed.
func TestRescueTakesNothingInVain(t *testing.T) {
	b := newBox(guard.Act)
	if _, _, refused := b.rescue(70 * gib); refused != guard.NoRoom || len(b.flushed) > 0 {
		t.Errorf("refused %q, flushed %d", refused, b.flushed)
	}
	b.event(t, snapshot.EventNotRescued, "are missing")
}

// TestRescueOfAClaim: if the memory is free already, no process is flushed.
func TestRescueOfAClaim(t *testing.T) {
	b := newBox(guard.Act)
	if room, _, refused := b.rescue(4 * gib); refused != "" || room != (guard.Room{Free: 5 * gib}) || len(b.flushed) > 0 {
		t.Errorf("%+v, refused %q, flushed %d", room, refused, b.flushed)
	}
}

// TestRescueByAnOldFigure: the driver's answer came too late for the sample, which therefore shows
// memory that is no longer free.
func TestRescueByAnOldFigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(guard.Act)
		b.late, b.behind = -20*gib, time.Now().Add(100*time.Millisecond)
		if room, _, refused := b.rescue(15 * gib); refused != "" || room.Freed != 15*gib {
			t.Errorf("%+v, refused %q", room, refused)
		}
	})
}

// TestRescueAwaitsAnotherFlush: a flush that is under way makes room, and no other process is
// flushed.
func TestRescueAwaitsAnotherFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(guard.Act)
		b.flush = func(pid int) (freed, real quantity.Bytes) {
			time.Sleep(giveTime - 200*time.Millisecond)
			return b.cached[pid], b.cached[pid]
		}
		var other sync.WaitGroup
		other.Go(func() {
			if _, _, refused := b.rescue(15 * gib); refused != "" {
				t.Errorf("another user's: %q", refused)
			}
		})
		time.Sleep(100 * time.Millisecond)
		room, ended, err := b.Rescue(t.Context(), guard.Ask{Process: identity(asker), UID: bob, GPUUUID: uuid, Bytes: 15 * gib})
		if err != nil || room.Free != 20*gib || len(b.flushed) != 1 {
			t.Fatalf("%+v, %v, flushed %d", room, err, b.flushed)
		}
		ended(guard.RescueOutcome{Known: true, Succeeded: true})
		b.event(t, snapshot.EventRescued, "15.0G succeeded")
		other.Wait()
		b.carried.Wait()
	})
}

// TestRescueFromALyingNeighbour: the driver's figure counts, not what the process reports.
func TestRescueFromALyingNeighbour(t *testing.T) {
	b := newBox(guard.Act)
	b.flush = func(int) (freed, real quantity.Bytes) { return 15 * gib, 0 }
	if _, _, refused := b.rescue(15 * gib); refused != guard.NoRoom {
		t.Errorf("refused %q", refused)
	}
	b.event(t, snapshot.EventNotRescued, "0 freed, and 5.00G are free")
}

// TestRescueFromANeighbourThatHangs: the rescue is answered in time, a second rescue meanwhile is
// refused at once, and the flush is finished.
func TestRescueFromANeighbourThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(guard.Act)
		b.flush = func(int) (freed, real quantity.Bytes) { time.Sleep(time.Minute); return 15 * gib, 15 * gib }
		began := time.Now()
		go func() {
			time.Sleep(time.Second)
			if _, _, refused := b.rescue(15 * gib); refused != guard.RescueBusy || time.Since(began) != time.Second {
				t.Errorf("a second rescue: %q after %s", refused, time.Since(began))
			}
		}()
		if _, _, refused := b.rescue(15 * gib); refused != guard.NoRoom || time.Since(began) >= 2*time.Second {
			t.Errorf("%q after %s", refused, time.Since(began))
		}
		b.event(t, snapshot.EventNotRescued, "has not freed its memory in time")
		b.carried.Wait()
		if b.cached[test] != 0 {
			t.Error("the flush was not finished")
		}
	})
}

// TestRescueDoesNotAwaitTheComparison: the caller continues when there is room, and the next rescue
// waits until the flush has ended.
func TestRescueDoesNotAwaitTheComparison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(guard.Act)
		compares := 400 * time.Millisecond
		b.after = func() { time.Sleep(compares) }
		began := time.Now()
		room, ended, refused := b.rescue(15 * gib)
		if took := time.Since(began); refused != "" || room.Freed != 15*gib || took != settlePause {
			t.Errorf("%+v, refused %q after %s", room, refused, took)
		}
		ended(guard.RescueOutcome{Known: true, Succeeded: true})
		b.event(t, snapshot.EventRescued, "15.0G by 102 test.py")
		if room, _, refused := b.rescue(40 * gib); refused != "" || room.Freed != 20*gib || time.Since(began) < compares || time.Since(began) > 2*compares {
			t.Errorf("the next: %+v, refused %q after %s", room, refused, time.Since(began))
		}
		b.carried.Wait()
	})
}

// TestRescueAwaitsTheFigure: a process's figure has fallen, but the GPU's has not yet.
func TestRescueAwaitsTheFigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(guard.Act)
		b.flush = func(int) (freed, real quantity.Bytes) {
			b.late, b.behind = 15*gib, time.Now().Add(300*time.Millisecond)
			return 15 * gib, 15 * gib
		}
		began := time.Now()
		room, _, refused := b.rescue(15 * gib)
		if took := time.Since(began); refused != "" || room.Free != 20*gib || took != 300*time.Millisecond {
			t.Errorf("%+v, refused %q after %s", room, refused, took)
		}
	})
}

// TestRescuesAreLimited: a user may ask for mostRescues in a minute, because each takes a sample.
func TestRescuesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(guard.Act)
		for i := range mostRescues {
			if _, _, refused := b.rescue(70 * gib); refused != guard.NoRoom {
				t.Fatalf("rescue %d: %q", i, refused)
			}
		}
		if _, _, refused := b.rescue(70 * gib); refused != guard.RescueLimit {
			t.Errorf("one too many: %q", refused)
		}
		time.Sleep(time.Minute)
		if _, _, refused := b.rescue(70 * gib); refused != guard.NoRoom {
			t.Errorf("a minute later: %q", refused)
		}
	})
}

// TestNoRescueInDryRun: the guard does nothing, and says so at once.
func TestNoRescueInDryRun(t *testing.T) {
	b := newBox(guard.DryRun)
	if _, _, refused := b.rescue(15 * gib); refused != guard.NotActing || len(b.flushed) > 0 || len(b.events) > 0 {
		t.Errorf("refused %q, flushed %d, %d events", refused, b.flushed, len(b.events))
	}
}
