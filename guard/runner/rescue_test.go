package runner

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vramscope/action/flush"
	"vramscope/guard"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

const (
	gib  = quantity.GiB
	uuid = "GPU-0"
)

// box is a GPU of 80 GiB, on which what a flush frees is free at the next sample.
type box struct {
	*Runner
	flush func(pid int) (freed, real quantity.Bytes) // by the probe, and really; -1: it does not answer

	after func() // it is freed

	mu      sync.Mutex
	rows    []row
	cached  map[int]quantity.Bytes // by pid
	behind  time.Time              // until then the GPU's figure is an old one
	late    quantity.Bytes         // by which it differs
	flushed []int
	events  []snapshot.Event
}

const (
	asker    = 100 // has 40 GiB allocated
	notebook = 101 // caches 20 GiB, importance -100
	test     = 102 // caches 15 GiB, importance -200
)

// row is a process of a box.
type row struct {
	pid       int
	uid       uint32
	command   string
	gpu       int
	allocated quantity.Bytes
	cached    quantity.Bytes // at first
}

func uuidOf(gpu int) string { return "GPU-" + strconv.Itoa(gpu) }

func newBox(mode guard.Mode) *box {
	percent := func(p float64) guard.Amount { return guard.Amount{Percent: p} }
	return newBoxOf(guard.Policy{
		Mode:       mode,
		Rules:      []guard.Rule{{Name: "r", When: guard.When{FreeBelow: percent(1)}, Goal: guard.Amount{Percent: 2}}},
		Importance: []guard.Importance{{Command: "notebook*", Value: -100}, {Command: "test*", Value: -200}},
	}, guard.Owner{UID: 1000},
		row{pid: asker, uid: 1000, command: "train.py", allocated: 40 * gib},
		row{pid: notebook, uid: 1000, command: "notebook.py", cached: 20 * gib},
		row{pid: test, uid: 1000, command: "test.py", cached: 15 * gib})
}

func newBoxOf(policy guard.Policy, owner guard.Owner, rows ...row) *box {
	b := &box{rows: rows, cached: map[int]quantity.Bytes{}}
	for i := range rows {
		b.cached[rows[i].pid] = rows[i].cached
	}
	b.flush = func(pid int) (freed, real quantity.Bytes) { return b.cached[pid], b.cached[pid] }
	b.Runner = New(guard.New(policy, owner))
	b.Flusher = b
	b.Sample = func(context.Context) *snapshot.Snapshot {
		snap := b.snapshot()
		b.Observe(snap)
		return snap
	}
	b.Note = func(e snapshot.Event) { b.mu.Lock(); b.events = append(b.events, e); b.mu.Unlock() }
	b.Sample(context.Background())
	return b
}

func (b *box) snapshot() *snapshot.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := func(v quantity.Bytes) snapshot.Bytes { return quantity.From(v, quantity.Driver) }
	s := &snapshot.Snapshot{Time: time.Now(), Interval: time.Second, Host: snapshot.Host{User: "alice"}, Driver: snapshot.Driver{State: snapshot.DriverOK}}
	var used []quantity.Bytes // by GPU
	for _, r := range b.rows {
		used = append(used, make([]quantity.Bytes, max(r.gpu+1-len(used), 0))...)
		used[r.gpu] += r.allocated + b.cached[r.pid]
		s.Rows = append(s.Rows, snapshot.Process{
			ID:   snapshot.RowID{Process: identity(r.pid), GPUUUID: uuidOf(r.gpu)},
			User: "user" + strconv.Itoa(int(r.uid)), UID: quantity.From(r.uid, quantity.System), Command: []string{r.command}, Name: r.command,
			Started: s.Time.Add(-time.Hour), Used: known(r.allocated + b.cached[r.pid]), Allocated: known(r.allocated), Cached: known(b.cached[r.pid]),
			Fragmented: known(0), Returnable: known(b.cached[r.pid]), Probe: &snapshot.Probe{State: snapshot.ProbeLive, Capabilities: []string{"flush"}},
			Hints: process.Hints{Distributed: quantity.From("", quantity.System)},
		})
	}
	if s.Time.Before(b.behind) {
		used[0] += b.late
	}
	for i, used := range used {
		s.GPUs = append(s.GPUs, snapshot.GPU{
			Index: i, UUID: uuidOf(i), State: snapshot.GPUOK, Memory: snapshot.Memory{Total: known(80 * gib), Used: known(used), Free: known(80*gib - used)},
		})
	}
	return s
}

func identity(pid int) process.Identity {
	return process.Identity{PID: pid, StartTime: 1, Namespace: 1}
}

// Run is the Flusher of the box.
func (b *box) Run(_ context.Context, r flush.Request) (flush.Result, error) {
	pid := r.Process.PID
	freed, real := b.flush(pid)
	if freed < 0 {
		return flush.Result{}, probe.ErrLate
	}
	b.mu.Lock()
	b.cached[pid] -= real
	b.flushed = append(b.flushed, pid)
	b.mu.Unlock()
	if b.after != nil {
		b.after()
	}
	b.Sample(context.Background()) // as action/flush does
	d := flush.Device{UUID: r.Devices[0], Before: freed, DriverBefore: quantity.From(real, quantity.Driver), DriverAfter: quantity.From(quantity.Bytes(0), quantity.Driver)}
	return flush.Result{Devices: []flush.Device{d}}, nil
}

func (b *box) rescue(need quantity.Bytes) (guard.Room, func(guard.RescueOutcome), string) {
	room, ended, err := b.Rescue(context.Background(), guard.Ask{Process: identity(asker), GPUUUID: uuid, Bytes: need})
	if err != nil {
		return room, ended, err.(*guard.RescueError).Code //nolint:errorlint,forcetypeassert // as the socket takes it
	}
	return room, ended, ""
}

func (b *box) event(t *testing.T, kind snapshot.EventKind, words ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Kind != kind || e.Row.Process.PID != asker {
			continue
		}
		for _, word := range words {
			if !strings.Contains(e.Message, word) {
				t.Errorf("the event %q lacks %q", e.Message, word)
			}
		}
		return
	}
	t.Errorf("no event %s among %+v", kind, b.events)
}

// TestRescueTakesWhatIsNeeded: from the least important first, and no more.
func TestRescueTakesWhatIsNeeded(t *testing.T) {
	b := newBox(guard.Act)
	room, ended, refused := b.rescue(15 * gib) // 5 GiB are free
	if refused != "" || room != (guard.Room{Freed: 15 * gib, Free: 20 * gib}) || len(b.flushed) != 1 || b.flushed[0] != test {
		t.Fatalf("%+v, refused %q, flushed %d", room, refused, b.flushed)
	}
	ended(guard.RescueOutcome{Known: true, Succeeded: true, Waited: 38 * time.Millisecond})
	b.event(t, snapshot.EventRescued, "15.0G succeeded after 38ms", "15.0G by 102 test.py")
}

// TestRescueTakesNothingInVain: what cannot be had in full is not taken in part.
func TestRescueTakesNothingInVain(t *testing.T) {
	b := newBox(guard.Act)
	if _, _, refused := b.rescue(70 * gib); refused != guard.NoRoom || len(b.flushed) > 0 {
		t.Errorf("refused %q, flushed %d", refused, b.flushed)
	}
	b.event(t, snapshot.EventNotRescued, "are missing")
}

// TestRescueOfAClaim: who asks for what is free has nobody flushed.
func TestRescueOfAClaim(t *testing.T) {
	b := newBox(guard.Act)
	if room, _, refused := b.rescue(4 * gib); refused != "" || room != (guard.Room{Free: 5 * gib}) || len(b.flushed) > 0 {
		t.Errorf("%+v, refused %q, flushed %d", room, refused, b.flushed)
	}
}

// TestRescueByAnOldFigure: the driver's answer missed the sample, which shows memory
// that is no longer free.
func TestRescueByAnOldFigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(guard.Act)
		b.late, b.behind = -20*gib, time.Now().Add(100*time.Millisecond)
		if room, _, refused := b.rescue(15 * gib); refused != "" || room.Freed != 15*gib {
			t.Errorf("%+v, refused %q", room, refused)
		}
	})
}

// TestRescueAwaitsAnotherFlush: one that has begun makes room, and nobody else gives.
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

// TestRescueFromALyingNeighbour: the driver's figure counts.
func TestRescueFromALyingNeighbour(t *testing.T) {
	b := newBox(guard.Act)
	b.flush = func(int) (freed, real quantity.Bytes) { return 15 * gib, 0 }
	if _, _, refused := b.rescue(15 * gib); refused != guard.NoRoom {
		t.Errorf("refused %q", refused)
	}
	b.event(t, snapshot.EventNotRescued, "0 freed, and 5.00G are free")
}

// TestRescueFromANeighbourThatHangs: it is answered in time, another meanwhile at
// once, and the flush is finished.
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

// TestRescueDoesNotAwaitTheComparison: the caller goes on when there is room, and the
// next rescue waits until the flush has ended.
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

// TestRescueAwaitsTheFigure: a process's figure has fallen, and the GPU's has not yet.
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

// TestRescuesAreLimited: each takes a sample.
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
