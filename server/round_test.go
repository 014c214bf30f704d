package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// idleFor makes the servers of a watcher idle for a time.
func idleFor(w *Watcher, d time.Duration) {
	for _, known := range w.of {
		known.idle = time.Now().Add(-d)
	}
}

// TestServersThatDoNotServeAgainAreNotSaidTo: no event says that a server serves again if the server sleeps, holds less,
// or does not report its requests.
func TestServersThatDoNotServeAgainAreNotSaidTo(t *testing.T) {
	for name, c := range map[string]struct {
		is     string // what the server reports then
		change func(*snapshot.Process)
		events int
	}{
		"it works":        {"awake 0", func(p *snapshot.Process) { p.SMUtilization = quantity.From(3, quantity.Driver) }, 1},
		"requests":        {"awake 1", nil, 1},
		"asleep":          {"asleep 0", func(p *snapshot.Process) { p.SMUtilization = quantity.From(3, quantity.Driver) }, 0},
		"no requests":     {"awake", nil, 0},
		"it holds less":   {"awake 0", func(p *snapshot.Process) { p.Used = quantity.From(quantity.MiB, quantity.Driver) }, 0},
		"work unknown":    {"awake 0", func(p *snapshot.Process) { p.SMUtilization = snapshot.Int{} }, 0},
		"memory unknown":  {"awake 0", func(p *snapshot.Process) { p.Used = snapshot.Bytes{} }, 0},
		"still the same ": {"awake 0", nil, 0},
	} {
		var is atomic.Value
		is.Store("awake 0")
		w, sample := watchedBox(t, "vllm", func(out http.ResponseWriter, r *http.Request) {
			state, requests, counted := strings.Cut(is.Load().(string), " ")
			metrics := "vllm:kv_cache_usage_perc 0\n"
			if counted {
				metrics += "vllm:num_requests_running " + requests + "\nvllm:num_requests_waiting 0\n"
			}
			_, _ = fmt.Fprint(out, map[string]string{"/version": `{"version": "0.33.0"}`, "/is_sleeping": fmt.Sprintf(`{"is_sleeping": %v}`, state == "asleep"), "/metrics": metrics}[r.URL.Path])
		})
		round(t, w, sample())
		idleFor(w, 11*time.Minute)
		if events := w.Add(sample()); len(events) != 1 {
			t.Fatalf("%s: %+v", name, events)
		}
		is.Store(c.is)
		snap := sample()
		if c.change != nil {
			c.change(&snap.Rows[0])
		}
		if events := round(t, w, snap); len(events) != c.events {
			t.Errorf("%s: %+v", name, events)
		}
	}
}

// TestFiguresAreNotComparedWithUnknownOnes: the driver reports the memory of only one of two processes.
func TestFiguresAreNotComparedWithUnknownOnes(t *testing.T) {
	w, sample := watchedBox(t, "ollama", func(out http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(out, map[string]string{"/api/version": `{"version": "0.9.0"}`, "/api/ps": `{"models": [{"name": "l", "size_vram": 42949672960}]}`}[r.URL.Path])
	})
	snap := sample()
	snap.Rows = append(snap.Rows, snap.Rows[0])
	snap.Rows[1].Used = snapshot.Bytes{}
	round(t, w, snap)
	if s := snap.Rows[0].Served; s == nil || s.Report() != "refused: it reports 40.0G, and the driver does not report its memory" || len(s.Parts) > 0 {
		t.Errorf("%+v", s)
	}
}

// TestServersThatHangHideNoOthers: another server's answer is there before the round ends, and the
// state that samples note during the round is kept.
func TestServersThatHangHideNoOthers(t *testing.T) {
	w, sample := watchedBox(t, "vllm", vllm(&atomic.Int32{}))
	hangs, release := make(chan struct{}, 9), make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hangs <- struct{}{}; <-release }))
	t.Cleanup(web.Close)
	t.Cleanup(func() { close(release) })
	child := exec.Command("sleep", "1001")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() }) // it sleeps
	id, err := w.finder.Table.Identify(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	w.finder.Entries = append([]Entry{{Matches: regexp.MustCompile("sleep 1001"), Kind: "vllm", Address: web.Listener.Addr().String(), Watch: true}}, w.finder.Entries...)
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.ask(t.Context(), []process.Identity{sample().Rows[0].ID.Process, id})
	}()
	<-hangs
	snap := sample()
	if w.Add(snap); snap.Rows[0].Served == nil {
		t.Error("a server that has answered is hidden by one that hangs")
	}
	w.mu.Lock()
	idleFor(w, 11*time.Minute)
	w.mu.Unlock()
	if events := w.Add(sample()); len(events) != 1 {
		t.Errorf("%+v", events)
	}
	<-over
	if events := w.Add(sample()); len(events) > 0 {
		t.Errorf("what the sample noted during the round is lost: %+v", events)
	}
	w.ask(t.Context(), nil)
	if len(w.of) > 0 {
		t.Errorf("servers that are gone are kept: %v", w.of)
	}
}

// TestNewestSampleIsAsked: if several samples have come since the last round, the newest is asked.
func TestNewestSampleIsAsked(t *testing.T) {
	w, sample := watchedBox(t, "vllm", vllm(&atomic.Int32{}))
	w.Add(&snapshot.Snapshot{})
	w.Add(sample())
	if ids := <-w.rows; len(ids) != 1 {
		t.Errorf("an older sample's %v are asked", ids)
	}
}
