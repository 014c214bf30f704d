package server

import (
	"context"
	"fmt"
	"log/slog"
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

// watchedBox returns the watcher of a server, and a function that returns a sample with its process.
func watchedBox(t *testing.T, kind string, answer http.HandlerFunc) (*Watcher, func() *snapshot.Snapshot) {
	t.Helper()
	web := httptest.NewServer(answer)
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() }) // it sleeps
	table := process.NewTable("/proc")
	id, err := table.Identify(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWatcher(&Finder{Table: table, Entries: []Entry{{Matches: regexp.MustCompile("server.test"), Kind: kind, Address: web.Listener.Addr().String(), Watch: true}}})
	return w, func() *snapshot.Snapshot {
		return &snapshot.Snapshot{Time: time.Now(), GPUs: []snapshot.GPU{{UUID: "GPU-1", State: snapshot.GPUOK}}, Rows: []snapshot.Process{{
			ID: snapshot.RowID{Process: id, GPUUUID: "GPU-1"}, Used: quantity.From(38*quantity.GiB, quantity.Driver), SMUtilization: quantity.From(0, quantity.Driver),
		}}}
	}
}

// round asks the server, and returns the events of a sample.
func round(t *testing.T, w *Watcher, snap *snapshot.Snapshot) []snapshot.Event {
	w.ask(t.Context(), []process.Identity{snap.Rows[0].ID.Process})
	return w.Add(snap)
}

func vllm(requests *atomic.Int32) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(out, map[string]string{ // the client may be gone
			"/version": `{"version": "0.33.0"}`, "/is_sleeping": `{"is_sleeping": false}`,
			"/metrics": fmt.Sprintf("vllm:num_requests_running %d\nvllm:num_requests_waiting 0\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.12\n", requests.Load()),
		}[r.URL.Path])
	}
}

// TestWatchedServersReport: the figures of a server are in its rows, and one event names a server that
// serves nothing.
func TestWatchedServersReport(t *testing.T) {
	requests := &atomic.Int32{}
	w, sample := watchedBox(t, "vllm", vllm(requests))
	snap := sample()
	if events := round(t, w, snap); len(events) > 0 {
		t.Errorf("an idle server is named at once: %+v", events)
	}
	s := snap.Rows[0].Served
	if s == nil || s.Name != "vLLM" || s.Version != "0.33.0" || s.KVCacheUsed.Or(0) != .12 || s.Words != "KV cache 12 % in use" || s.Requests.Or(9) != 0 || s.IdleSince.IsZero() || len(s.Parts) > 0 {
		t.Fatalf("it reports %+v", s)
	}
	for _, known := range w.of {
		known.idle = time.Now().Add(-11 * time.Minute)
	}
	if events := w.Add(sample()); len(events) != 1 || events[0].Kind != snapshot.EventIdleServer || !strings.Contains(events[0].Message, "holds 38.0G, and has served nothing for 10m, by its own report") {
		t.Errorf("%+v", events)
	}
	if events := round(t, w, sample()); len(events) > 0 {
		t.Errorf("it is named twice: %+v", events)
	}
	requests.Store(2)
	if events := round(t, w, sample()); len(events) != 1 || !strings.Contains(events[0].Message, "holds 38.0G, and serves again") {
		t.Errorf("%+v", events)
	}
	requests.Store(0)
	round(t, w, sample())
	for _, known := range w.of {
		known.idle = time.Now().Add(-11 * time.Minute)
	}
	busy := sample()
	if busy.Rows[0].SMUtilization = quantity.From(3, quantity.Driver); len(w.Add(busy)) > 0 {
		t.Error("it is named though the driver reports its work")
	}
}

// TestWatchedServersAreChecked: figures that exceed the driver's are refused, and a share must be
// between 0 and 1.
func TestWatchedServersAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		kind   string
		answer map[string]string
		words  string
	}{
		"more than the driver has": {"ollama", map[string]string{"/api/version": `{"version": "0.9.0"}`, "/api/ps": `{"models": [{"name": "l\u001b[2J", "size_vram": 512000000000}]}`}, "refused: it reports 477G, the driver 38.0G"},
		"as much":                  {"ollama", map[string]string{"/api/version": `{"version": "0.9.0"}`, "/api/ps": `{"models": [{"name": "l", "size_vram": 1073741824}]}`}, "l 1.00G"},
		"no share":                 {"vllm", map[string]string{"/version": `{"version": "1.0.0"}`, "/is_sleeping": `{}`, "/metrics": "vllm:kv_cache_usage_perc 12\n"}, ""},
		"asleep":                   {"vllm", map[string]string{"/version": `{"version": "1.0.0"}`, "/is_sleeping": `{"is_sleeping": true}`, "/metrics": "vllm:kv_cache_usage_perc 0\n"}, "asleep"},
	} {
		w, sample := watchedBox(t, c.kind, func(out http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(out, c.answer[r.URL.Path]) })
		snap := sample()
		round(t, w, snap)
		if s := snap.Rows[0].Served; s == nil || s.Report() != c.words || s.Refused != "" && s.Parts != nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestAnAbsentQueueIsUnknown: a missing queue does not mean that a server has no requests.
func TestAnAbsentQueueIsUnknown(t *testing.T) {
	for queue, want := range map[string]snapshot.Int{`{}`: {}, `{"queue_running": []}`: {}, `{"queue_running": [], "queue_pending": [[]]}`: quantity.From(1, quantity.Probe)} {
		w, sample := watchedBox(t, "comfyui", func(out http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(out, map[string]string{"/system_stats": `{"system": {"comfyui_version": "0.3.0"}}`, "/queue": queue}[r.URL.Path]) // the client may be gone
		})
		snap := sample()
		round(t, w, snap)
		if s := snap.Rows[0].Served; s == nil || s.Requests != want || !s.IdleSince.IsZero() {
			t.Errorf("%s: %+v", queue, s)
		}
	}
}

// TestServersThatHangCostASampleNothing: no sample waits for a server that hangs, and only one
// question is open at a time.
func TestServersThatHangCostASampleNothing(t *testing.T) {
	var inFlight, most atomic.Int32
	release := make(chan struct{})
	w, sample := watchedBox(t, "vllm", func(http.ResponseWriter, *http.Request) {
		if n := inFlight.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-release
		inFlight.Add(-1)
	})
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { w.Run(ctx); close(over) }()
	for i := 0; inFlight.Load() == 0 || i < 50; i++ { // each returns while the first question hangs
		snap := sample()
		if w.Add(snap); snap.Rows[0].Served != nil {
			t.Fatal("it has answered")
		}
	}
	close(release)
	stop()
	<-over
	if most.Load() > 1 {
		t.Errorf("%d questions at a time", most.Load())
	}
}

// TestSilenceIsLoggedOnce: the log says after a while why a server does not answer, and later that
// it answers again.
func TestSilenceIsLoggedOnce(t *testing.T) {
	broken := &atomic.Bool{}
	w, sample := watchedBox(t, "vllm", func(out http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			http.Error(out, "no", http.StatusUnauthorized)
			return
		}
		vllm(&atomic.Int32{})(out, r)
	})
	log := &strings.Builder{}
	w.Log = slog.New(slog.NewTextHandler(log, nil))
	rounds := func(want ...string) {
		t.Helper()
		for range 3 {
			round(t, w, sample())
		}
		for _, known := range w.of {
			known.heard = known.heard.Add(-watchOld)
		}
		for range 3 {
			round(t, w, sample())
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		for i, has := range want {
			if len(lines) != len(want) || !strings.Contains(lines[i], has) {
				t.Fatalf("the log is %q, want %q", lines, want)
			}
		}
		log.Reset()
	}
	rounds("") // it answers from the start
	broken.Store(true)
	rounds("does not answer")
	rounds("")
	broken.Store(false)
	rounds("a watched server answers")
	w.finder.Entries[0].KeyFile = "/nonexistent" // it cannot even be asked
	rounds("/nonexistent: no such file")
	w.finder.Entries[0].Watch = false
	rounds("")
}

// TestServersThatNobodyNamesAreNotAsked: a server is asked only if its entry says so.
func TestServersThatNobodyNamesAreNotAsked(t *testing.T) {
	var asked atomic.Int32
	w, sample := watchedBox(t, "vllm", func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	w.finder.Entries[0].Watch = false
	round(t, w, sample())
	if asked.Load() > 0 {
		t.Errorf("it was asked %d times", asked.Load())
	}
}
