package socket

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// fakeGuard pauses when it is asked to.
type fakeGuard struct {
	mu    sync.Mutex
	state snapshot.Guard
}

func (g *fakeGuard) State() *snapshot.Guard {
	g.mu.Lock()
	defer g.mu.Unlock()
	state := g.state
	return &state
}

func (g *fakeGuard) Pause(until time.Time) *snapshot.Guard {
	g.mu.Lock()
	g.state.Paused = until
	g.mu.Unlock()
	return g.State()
}

func guarded() *fakeGuard {
	row := snapshot.RowID{Process: process.Identity{PID: 7, StartTime: 9}, GPUUUID: "GPU-0"}
	return &fakeGuard{state: snapshot.Guard{
		Mode: snapshot.GuardAct, Rules: []snapshot.GuardRule{{Name: "secret plan"}},
		Standings: []snapshot.GuardStanding{{Row: row, Importance: -5, Order: 1}},
		Decisions: []snapshot.GuardDecision{{Kind: snapshot.GuardFlushed, Row: row, Name: "secret.py", Reason: "low\x1b[2J", Message: "flushed PID 7"}},
	}}
}

func TestGuardStateAndPause(t *testing.T) {
	directory := t.TempDir()
	guard := guarded()
	s, err := Listen(Options{Directory: directory, Latest: newBox().latest.Load, Status: func() Status { return Status{} }, Guard: guard})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { s.Serve(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	conn, err := dial(t.Context(), directory, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(conn)
	defer func() { _ = c.Close() }() // the test is over
	g, err := c.Guard(ctx)
	if err != nil || g.Mode != snapshot.GuardAct || !g.ByDaemon || len(g.Standings) != 1 || g.Standings[0].Importance != -5 || g.Decisions[0].Reason != "low?[2J" {
		t.Errorf("%+v, %v", g, err)
	}
	began := time.Now()
	if g, err = c.PauseGuard(ctx, 10*time.Minute); err != nil || g.Paused.Before(began.Add(10*time.Minute).Truncate(time.Second)) {
		t.Errorf("%+v, %v", g, err)
	}
	if g, err = c.PauseGuard(ctx, 0); err != nil || g.Paused.After(time.Now()) {
		t.Errorf("the pause goes on: %+v, %v", g, err)
	}
	if _, err = c.PauseGuard(ctx, 25*time.Hour); err == nil || !strings.Contains(err.Error(), "for_ns") {
		t.Errorf("25 hours: %v", err)
	}
}

// Others read the guard's mode, and pause nothing.
func TestOthersCannotPauseTheGuard(t *testing.T) {
	guard := guarded()
	s := &Server{options: Options{Guard: guard}}
	if got := string(s.reply([]byte(`{"id":1,"cmd":"guard_pause","for_ns":1000}`), false)); !strings.Contains(got, `"forbidden"`) || !guard.State().Paused.IsZero() {
		t.Errorf("%s", got)
	}
	got := string(s.reply([]byte(`{"id":1,"cmd":"guard"}`), false))
	if !strings.Contains(got, `"mode":"act"`) || strings.Contains(got, "secret") || strings.Contains(got, `"pid"`) {
		t.Errorf("%s", got)
	}
	s.options.Guard = nil
	if got := string(s.reply([]byte(`{"id":1,"cmd":"guard"}`), true)); !strings.Contains(got, `"not_found"`) {
		t.Errorf("%s", got)
	}
}

// TestReaderAsksForTheGuard: a refusal means that there is no guard. Another error ends the connection.
func TestReaderAsksForTheGuard(t *testing.T) {
	for answer, want := range map[string]struct{ guard, broken bool }{
		`{"id":1,"ok":true,"guard":{"mode":"act"}}`:        {guard: true},
		`{"id":1,"ok":false,"error":{"code":"not_found"}}`: {},
		`{"id":1,"ok":true`:                                {broken: true},
	} {
		c, r := answering(t, answer), NewReader(fixed{}, nil, time.Now)
		c.status.Store(new(Status))
		if err := r.askGuard(t.Context(), c); (err != nil) != want.broken || (r.Guard() != nil) != want.guard {
			t.Errorf("%s: %+v, %v", answer, r.Guard(), err)
		}
	}
}

// TestReaderPausesTheGuard: the guard's state after the request is known at once. A refusal is returned.
func TestReaderPausesTheGuard(t *testing.T) {
	for answer, c := range map[string]struct {
		known bool
		err   string
	}{
		`{"id":1,"ok":true,"guard":{"mode":"act"}}`:                            {known: true},
		`{"id":1,"ok":false,"error":{"code":"forbidden","message":"not you"}}`: {err: "not you"},
		`{"id":1,"ok":true`: {err: errSilent.Error()},
	} {
		r := NewReader(fixed{}, nil, time.Now)
		r.set(answering(t, answer), nil)
		if err := r.PauseGuard(t.Context(), time.Minute); (r.Guard() != nil) != c.known || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v, %v", answer, r.Guard(), err)
		}
	}
}

// timed is a guard that reports when it is asked.
type timed struct {
	*fakeGuard
	asked chan time.Time
}

func (g timed) State() *snapshot.Guard {
	g.asked <- time.Now()
	return g.fakeGuard.State()
}

// TestReaderAsksAGuardOften: the reader asks for a guard more often than it looks for a daemon, or asks the
// daemon for its status.
func TestReaderAsksAGuardOften(t *testing.T) {
	directory, guard := t.TempDir(), timed{guarded(), make(chan time.Time, 100)}
	var greeted atomic.Int32
	status := func() Status { greeted.Add(1); return Status{} }
	s, err := Listen(Options{Directory: directory, Latest: newBox().latest.Load, Status: status, Guard: guard})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := NewReader(fixed{}, []Place{{Directory: directory, Owner: uint32(os.Geteuid())}}, time.Now)
	var running sync.WaitGroup
	running.Go(func() { s.Serve(ctx) })
	running.Go(func() { r.Run(ctx) })
	defer func() { cancel(); running.Wait() }()
	before := <-guard.asked
	for range 3 { // the box may be busy
		now := <-guard.asked
		if now.Sub(before) < lookInterval {
			if n := greeted.Load(); n > 2 { // one as it connects, one as it begins
				t.Errorf("it asks for the status %d times", n)
			}
			return
		}
		before = now
	}
	t.Errorf("it is asked no more often than every %v", lookInterval)
}

func TestReaderWithoutGuard(t *testing.T) {
	r := NewReader(fixed{}, []Place{{Directory: filepath.Join(t.TempDir(), "none"), Owner: uint32(os.Geteuid())}}, time.Now)
	if err := r.PauseGuard(context.Background(), time.Minute); err == nil || err.Error() != "the daemon does not answer" || r.Guard() != nil {
		t.Errorf("%v, %+v", err, r.Guard())
	}
}
