package runner

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vramscope/guard"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

const (
	alice = 1000
	bob   = 1001 // whose probes never answer a flush
	carol = 1002
)

// below returns a policy with one rule, for all users' processes.
func below(free, goal float64) guard.Policy {
	return guard.Policy{Mode: guard.Act, Rules: []guard.Rule{{
		Name: "room", Users: guard.All, When: guard.When{FreeBelow: guard.Amount{Percent: free}, For: 10 * time.Second}, Goal: guard.Amount{Percent: goal},
	}}}
}

// freed returns how long it took until alice's processes were flushed, on a box that root's guard
// looks at once a second; zero if one of them was not flushed within a minute and a half.
func freed(policy guard.Policy, rows ...row) (took time.Duration) {
	b := newBoxOf(policy, guard.Owner{Root: true}, rows...)
	b.flush = func(pid int) (freed, real quantity.Bytes) {
		if i := slices.IndexFunc(rows, func(r row) bool { return r.pid == pid }); rows[i].uid == bob {
			time.Sleep(10 * time.Second) // the deadline of a flush
			return -1, 0
		}
		time.Sleep(time.Second)
		return b.cached[pid], b.cached[pid]
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { b.Runner.Run(ctx); close(ended) }()
	began := time.Now()
	for range 90 {
		time.Sleep(time.Second)
		b.Sample(ctx)
		b.mu.Lock()
		done := !slices.ContainsFunc(rows, func(r row) bool { return r.uid == alice && b.cached[r.pid] > 0 })
		b.mu.Unlock()
		if done && took == 0 {
			took = time.Since(began)
		}
	}
	cancel()
	<-ended
	return took
}

// TestHangingProbesDelayTheirOwnerAlone: another user's processes are flushed at most five seconds
// later than without the hanging ones, wherever those are.
func TestHangingProbesDelayTheirOwnerAlone(t *testing.T) {
	alices := []row{
		{pid: 201, uid: alice, command: "a", gpu: 1, allocated: 12 * gib, cached: 25 * gib},
		{pid: 202, uid: alice, command: "b", gpu: 1, allocated: 12 * gib, cached: 25 * gib},
	}
	bobs := func(n, gpus int, each quantity.Bytes) (rows []row) {
		for i := range n {
			rows = append(rows, row{pid: 301 + i, uid: bob, command: "hangs", gpu: i % gpus, allocated: gib / 4, cached: each})
		}
		return rows
	}
	others := []row{{pid: 101, uid: carol, command: "fills", gpu: 1, allocated: 5 * gib}}
	for name, neighbours := range map[string][]row{
		"five on another GPU":   bobs(5, 1, 15*gib),
		"fifty on eight GPUs":   bobs(50, 8, gib/2),
		"those of the same GPU": append(bobs(2, 1, 0), row{pid: 351, uid: bob, command: "hangs", gpu: 1, cached: 2 * gib}, row{pid: 352, uid: bob, command: "hangs", gpu: 1, cached: 2 * gib}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				policy := below(10, 50)
				if len(neighbours) == 50 {
					policy = below(99, 99.5) // there is pressure everywhere
				}
				policy.Importance = []guard.Importance{{Command: "hangs", Value: -500}}
				alone := freed(policy, slices.Concat(others, alices)...)
				beside := freed(policy, slices.Concat(others, alices, neighbours)...)
				if alone == 0 || beside == 0 || beside > alone+5*time.Second {
					t.Errorf("flushed after %s, alone after %s", beside, alone)
				}
			})
		})
	}
}

// shared returns a GPU on which alice's training has 40 GiB allocated and 5 GiB are free; bob's
// process caches 18 GiB and hangs, and carol's, which is more important, caches 17 GiB.
func shared() *box {
	policy := below(1, 2)
	policy.MaxPerMinute = 60
	policy.Importance = []guard.Importance{{Command: "train.py", Value: 100}, {Command: "hangs", Value: -500}}
	b := newBoxOf(policy, guard.Owner{Root: true},
		row{pid: asker, uid: alice, command: "train.py", allocated: 40 * gib},
		row{pid: 301, uid: bob, command: "hangs", cached: 18 * gib},
		row{pid: 401, uid: carol, command: "test.py", cached: 17 * gib})
	b.flush = func(pid int) (freed, real quantity.Bytes) {
		if pid == 301 {
			time.Sleep(10 * time.Second)
			return -1, 0
		}
		return b.cached[pid], b.cached[pid]
	}
	return b
}

// ask asks for a rescue of a process, as the daemon's socket does.
func (b *box) ask(pid int, uid uint32, bytes quantity.Bytes) string {
	_, ended, err := b.Rescue(context.Background(), guard.Ask{Process: identity(pid), UID: uid, GPUUUID: uuid, Bytes: bytes})
	if err != nil {
		return err.(*guard.RescueError).Code //nolint:errorlint,forcetypeassert // as the socket takes it
	}
	ended(guard.RescueOutcome{Known: true, Succeeded: true})
	return ""
}

// TestRescuePassesOverANeighbourThatHangs: another user's process frees memory in time, and the
// next rescue asks that process first.
func TestRescuePassesOverANeighbourThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shared()
		began := time.Now()
		if refused := b.ask(asker, alice, 15*gib); refused != "" || time.Since(began) > giveTime+2*settlePause {
			t.Fatalf("refused %q after %s", refused, time.Since(began))
		}
		b.event(t, snapshot.EventRescued, "17.0G by 401 test.py")
		b.carried.Wait()
		b.cached[401] = 17 * gib
		b.Sample(t.Context())
		began = time.Now()
		if refused := b.ask(asker, alice, 15*gib); refused != "" || time.Since(began) > 0 {
			t.Errorf("the next: refused %q after %s", refused, time.Since(began))
		}
		b.carried.Wait()
	})
}

// TestHonestRescuesBesideAFlood: an honest user asks for a thousand rescues, while bob asks all the
// time for a process that is not on the GPU and for one that is.
func TestHonestRescuesBesideAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shared()
		ctx, cancel := context.WithCancel(t.Context())
		var flood sync.WaitGroup
		for _, pid := range []int{301, 999} {
			for range 4 {
				flood.Go(func() {
					for ctx.Err() == nil {
						_ = b.ask(pid, bob, 70*gib)
						time.Sleep(500 * time.Millisecond)
					}
				})
			}
		}
		served := 0
		for range 1000 {
			time.Sleep(3050 * time.Millisecond)
			b.mu.Lock()
			b.cached[401] = 17 * gib
			b.mu.Unlock()
			b.Sample(ctx)
			if b.ask(asker, alice, 15*gib) == "" {
				served++
			}
		}
		cancel()
		flood.Wait()
		b.carried.Wait()
		if served < 990 {
			t.Errorf("%d of 1000 were served", served)
		}
		bobs := 0
		for _, e := range b.events {
			if e.Row.Process.PID == 301 && e.Kind == snapshot.EventNotRescued || e.Row.Process.PID == 999 {
				bobs++
			}
		}
		if bobs > 60 {
			t.Errorf("%d events of bob's refusals in an hour", bobs)
		}
	})
}

// TestNoRescueForAStranger: a process that is not on the GPU uses up no one else's rescues, and
// makes no event.
func TestNoRescueForAStranger(t *testing.T) {
	b := shared()
	for range 2 * mostRescues {
		if refused := b.ask(999, bob, gib); refused != guard.NoRoom && refused != guard.RescueLimit {
			t.Fatalf("a stranger: %q", refused)
		}
	}
	if len(b.events) > 0 {
		t.Errorf("%+v", b.events)
	}
	if refused := b.ask(asker, alice, 4*gib); refused != "" {
		t.Errorf("the next: %q", refused)
	}
}

// TestRescueThatIsNotNeededPunishesNobody: a second flush that is withdrawn, because the first freed
// enough, counts neither against its process nor against the limit of actions.
func TestRescueThatIsNotNeededPunishesNobody(t *testing.T) {
	b := newBox(guard.Act)
	b.flush = func(int) (freed, real quantity.Bytes) { return 15 * gib, 40 * gib } // more than the process reports
	if _, _, refused := b.rescue(30 * gib); refused != "" || len(b.flushed) != 1 {
		t.Fatalf("refused %q, flushed %d", refused, b.flushed)
	}
	for _, e := range b.events {
		if e.Decision != nil && e.Decision.Kind == snapshot.GuardRefused {
			t.Errorf("%+v", e)
		}
	}
	if kept := b.Keep(); len(kept.Rows) != 1 || len(kept.Actions) != 1 {
		t.Errorf("%+v", kept)
	}
}
