package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"vramscope/internal/bounded"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// Watcher asks the watched servers on a goroutine of its own, one after the other, each for at most
// watchTime. A server that hangs delays the questions to the next servers, but no sample after the first.
type Watcher struct {
	First time.Duration // how long the first sample waits for the first round
	Log   *slog.Logger  // for servers that do not answer; nil outside a daemon

	finder   *Finder
	rows     chan []process.Identity // of the newest sample
	answered chan struct{}           // closed after the first round

	mu sync.Mutex
	of map[process.Key]*watched // by the server's listening process, and by its processes on GPUs; only ask replaces the map
}

// watched is a server and its newest answer.
type watched struct {
	state State
	at    time.Time // when the newest answer came; zero: none has come
	idle  time.Time // since when it has served nothing; zero: it serves, sleeps, or does not report its requests
	named bool      // an event has said that the server is idle

	heard  time.Time // when it last answered or, before its first answer, was first seen
	silent bool      // the log has said that the server does not answer
}

const (
	watchEvery = 10 * time.Second // between two rounds
	watchTime  = 2 * time.Second  // for one server
	watchOld   = 45 * time.Second // an answer is valid for this long
	idleLonger = 10 * time.Minute
	idleLeast  = quantity.GiB
)

func NewWatcher(finder *Finder) *Watcher {
	return &Watcher{finder: finder, rows: make(chan []process.Identity, 1), answered: make(chan struct{})}
}

// Run asks until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return
		case ids := <-w.rows:
			w.ask(ctx, ids)
		}
		if first {
			close(w.answered)
		}
		bounded.Sleep(ctx, watchEvery)
	}
}

// ask asks the server of each process once, and forgets all other servers.
func (w *Watcher) ask(ctx context.Context, ids []process.Identity) {
	of, servers := map[process.Key]*watched{}, []*Server(nil)
	for _, id := range ids {
		s, err := w.finder.Find(id)
		var server process.Identity
		is := err == nil && s.Watched
		if is {
			server = s.Process
		} else if err != nil && w.Log != nil {
			server, is = w.finder.watches(id)
		}
		if !is {
			continue
		}
		key := server.Key()
		if of[key] == nil {
			of[key] = cmp.Or(w.of[key], w.of[id.Key()], &watched{heard: time.Now()})
			if err == nil {
				servers = append(servers, s)
			} else {
				w.note(of[key], server, err)
			}
		}
		of[id.Key()] = of[key]
	}
	w.mu.Lock()
	w.of = of
	w.mu.Unlock()
	for _, s := range servers {
		w.look(ctx, s, of[s.Process.Key()])
	}
}

func (w *Watcher) look(ctx context.Context, s *Server, known *watched) {
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	state, err := s.Look(ctx)
	w.note(known, s.Process, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		return
	}
	known.state, known.at = state, time.Now()
	if state.Requests.Or(1) > 0 || state.Asleep.Or(false) {
		known.idle = time.Time{}
	} else if known.idle.IsZero() {
		known.idle = known.at
	}
}

// note logs that a server has not answered for watchOld, and later that it answers again. It takes no
// lock: only the goroutine of Run reads and writes heard and silent.
func (w *Watcher) note(known *watched, id process.Identity, err error) {
	switch {
	case err == nil && known.silent && w.Log != nil:
		w.Log.Info("a watched server answers", "pid", id.PID)
	case err != nil && !known.silent && w.Log != nil && time.Since(known.heard) > watchOld:
		w.Log.Warn("a watched server does not answer", "pid", id.PID, "reason", text.Clean(err.Error()))
		known.silent = true
	}
	if err == nil {
		known.heard, known.silent = time.Now(), false
	}
}

// Add adds the newest answers to the rows of a snapshot. It returns an event for each server that has become idle or serves again.
func (w *Watcher) Add(snap *snapshot.Snapshot) (events []snapshot.Event) {
	var ids []process.Identity
	for i := range snap.Rows {
		ids = append(ids, snap.Rows[i].ID.Process)
	}
	select {
	case <-w.rows: // drops the rows of an older sample
	default:
	}
	select {
	case w.rows <- ids:
	default: // a concurrent sample has sent its rows
	}
	if w.First > 0 {
		bounded.Ended(w.answered, w.First)
		w.First = 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, rows := time.Now(), map[*watched][]*snapshot.Process{}
	for i := range snap.Rows {
		p := &snap.Rows[i]
		if s := w.of[p.ID.Process.Key()]; s != nil && now.Sub(s.at) < watchOld {
			rows[s] = append(rows[s], p)
		}
	}
	for s, of := range rows {
		events = append(events, s.add(now, snap, of)...)
	}
	return events
}

// add adds a server's answer to the rows of its processes.
func (s *watched) add(now time.Time, snap *snapshot.Snapshot, rows []*snapshot.Process) []snapshot.Event {
	var used snapshot.Bytes
	whole, busy := true, s.state.Requests.Or(0) > 0
	for _, p := range rows {
		used, whole = quantity.Sum(used, p.Used), whole && p.Used.Known()
		works := p.SMUtilization
		if g := snap.GPU(p.ID.GPUUUID); !works.Known() && g != nil {
			works = g.Utilization
		}
		if works.Or(1) > 0 && !s.idle.IsZero() {
			s.idle = now // the server has worked between two questions
		}
		busy = busy || works.Or(0) > 0
	}
	if !whole {
		used = snapshot.Bytes{} // a sum over some of the processes is not the server's
	}
	reported := s.state.Checked(used)
	reported.IdleSince = s.idle
	for _, p := range rows {
		p.Served = &reported
	}
	idle, message := !s.idle.IsZero() && now.Sub(s.idle) >= idleLonger && used.Or(0) >= idleLeast, "%s (PID %d) holds %s, and serves again"
	if idle == s.named || !whole {
		return nil
	}
	if s.named = idle; !idle && (!busy || s.state.Asleep.Or(false)) {
		return nil // the server sleeps, holds less, or does not report its requests
	}
	if idle {
		message = "%s (PID %d) holds %s, and has served nothing for 10m, by its own report"
	}
	p := rows[0]
	return []snapshot.Event{{
		Time: snap.Time, Kind: snapshot.EventIdleServer, Severity: snapshot.Notice, GPU: p.GPU, GPUUUID: p.ID.GPUUUID, Row: p.ID, User: p.User, Name: p.ProgramName(),
		Message: fmt.Sprintf(message, reported.Name, reported.Process.PID, used.Or(0)), Bytes: used,
	}}
}
