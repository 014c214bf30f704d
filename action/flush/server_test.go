package flush

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/server"
)

// standIn answers as a server of its kind does by that server's sources. It also stands in for the
// driver, whose figure of the memory it has.
type standIn struct {
	kind, fault string
	child       *exec.Cmd // the process that has the memory
	id          process.Identity

	mu       sync.Mutex
	clock    time.Time
	asleep   bool
	changes  []change // changes of the memory to come
	used     quantity.Bytes
	asked    []string // the POST requests
	inFlight atomic.Int32
	requests int
	version  string
	proxy    string // where a model's own server listens, as llama-swap reports
	unknown  bool   // the memory of another row of the server is unknown
}

type change struct {
	at   time.Time
	used quantity.Bytes
}

const (
	serverHolds = 38 * quantity.GiB
	serverKeeps = quantity.GiB
)

func newStandIn(t *testing.T, kind, fault string) (*standIn, *Flusher) {
	t.Helper()
	s := &standIn{kind: kind, fault: fault, clock: time.Unix(1_700_000_000, 0), used: serverHolds, version: "17.0.0"}
	s.child = exec.Command("sleep", "1000")
	if err := s.child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.child.Process.Kill(); _ = s.child.Wait() }) // the child may have ended
	table := process.NewTable("/proc")
	var err error
	if s.id, err = table.Identify(s.child.Process.Pid); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	s.proxy = strings.Replace(web.URL, "127.0.0.1", "localhost", 1)
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	finder := &server.Finder{Table: table, Entries: []server.Entry{{
		Matches: regexp.MustCompile("flush.test"), Kind: kind, Address: web.Listener.Addr().String(), KeyEnv: "VRAMSCOPE_TEST_KEY", Release: "/free", Resume: "/load",
	}}}
	return s, &Flusher{
		Sample: s.sample, Clock: s.now, Log: &action.Log{Directory: filepath.Join(t.TempDir(), "state")},
		Servers: func(id process.Identity) (*server.Server, error) {
			found, err := finder.Find(id)
			if found != nil {
				found.Limit = 10 * time.Second
			}
			return found, err
		},
		sleep: func(_ context.Context, d time.Duration) {
			for s.fault != "hang" && s.inFlight.Load() > 0 {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(5 * time.Millisecond) // the answer is on its way
			s.mu.Lock()
			defer s.mu.Unlock()
			s.clock = s.clock.Add(d)
		},
	}
}

func (s *standIn) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

// sample returns what the driver reports.
func (s *standIn) sample(context.Context) *snapshot.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.changes) > 0 && !s.changes[0].at.After(s.clock) {
		s.used, s.changes = s.changes[0].used, s.changes[1:]
	}
	snap := &snapshot.Snapshot{
		Host: snapshot.Host{User: "root", MemoryTotal: quantity.From(quantity.TiB, quantity.System), MemoryUsed: quantity.From(quantity.GiB, quantity.System)},
		GPUs: []snapshot.GPU{{UUID: "GPU-1", Name: "H100", State: snapshot.GPUOK, ProcessCount: quantity.From(1, quantity.Driver)}},
	}
	if s.used > 0 {
		snap.Rows = []snapshot.Process{{ID: snapshot.RowID{Process: s.id, GPUUUID: "GPU-1"}, Used: quantity.From(s.used, quantity.Driver)}}
	}
	if s.unknown {
		snap.Rows = append(snap.Rows, snapshot.Process{ID: snap.Rows[0].ID})
	}
	return snap
}

// goesTo changes the used memory after a time.
func (s *standIn) goesTo(used quantity.Bytes, after time.Duration) {
	s.changes = append(s.changes, change{s.clock.Add(after), used})
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	say := func(code int, answer any) {
		w.WriteHeader(code)
		if text, ok := answer.(string); ok {
			_, _ = fmt.Fprint(w, text) // the client may have gone
		} else {
			_ = json.NewEncoder(w).Encode(answer)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fault == "another program":
		say(http.StatusOK, "<html>hello</html>")
		return
	case s.fault == "credentials refused" || !strings.HasPrefix(r.Host, "127.0.0.1:") == (r.Header.Get("Authorization") == bearer):
		say(http.StatusUnauthorized, "who says "+r.Header.Get("Authorization"))
		return
	case r.Method == http.MethodGet:
		answers := map[string]any{
			"vllm /version": map[string]any{"version": s.version}, "vllm /is_sleeping": map[string]any{"is_sleeping": s.asleep},
			"vllm /metrics":       fmt.Sprintf("# HELP x y\nvllm:num_requests_running{engine=\"0\",model_name=\"a b}\"} %d.0\nvllm:num_requests_waiting{engine=\"0\"} 0.0\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.12\n", s.requests),
			"sglang /server_info": map[string]any{"version": s.version, "enable_memory_saver": s.fault != "not started for it", "enable_weights_cpu_backup": true},
			"sglang /v1/loads": map[string]any{"loads": []any{map[string]any{"num_running_reqs": s.requests, "num_waiting_reqs": 0, "token_usage": .12,
				"memory": map[string]any{"weight_gb": 14.5, "kv_cache_gb": 22.5, "graph_gb": .5}}}},
			"ollama /api/version": map[string]any{"version": s.version}, "ollama /api/ps": map[string]any{"models": []any{map[string]any{"name": "llama", "size_vram": 37 * quantity.GiB}}},
		}
		model := func(state string) []any {
			return []any{map[string]any{"id": "llama", "status": map[string]any{"value": state}}}
		}
		metrics := fmt.Sprintf("# HELP x y\nllamacpp:requests_processing %d\nllamacpp:requests_deferred 0\n", s.requests)
		answers["llama.cpp /props"] = map[string]any{"role": map[bool]string{true: "router"}[s.fault != "not started for it"], "build_info": s.version}
		answers["llama.cpp /models"], answers["llama.cpp /metrics"] = map[string]any{"data": model("loaded")}, metrics
		answers["llama-swap /api/version"], answers["llama-swap /metrics"] = map[string]any{"version": s.version}, metrics
		answers["llama-swap /running"] = map[string]any{"running": []any{map[string]any{"model": "llama", "state": "ready", "proxy": s.proxy}}}
		answers["comfyui /system_stats"] = map[string]any{"system": map[string]any{"comfyui_version": s.version}, "devices": []any{map[string]any{"torch_vram_total": 37 * quantity.GiB, "torch_vram_free": quantity.GiB}}}
		answers["comfyui /queue"] = map[string]any{"queue_running": make([]any, max(s.requests, 0)), "queue_pending": []any{}}
		if s.asleep {
			answers["llama.cpp /models"], answers["llama-swap /running"] = map[string]any{"data": model("unloaded")}, map[string]any{"running": []any{}}
			answers["ollama /api/ps"] = map[string]any{"models": []any{}}
		}
		if answer, ok := answers[s.kind+" "+r.URL.Path]; ok && (s.fault != "not started for it" || r.URL.Path != "/is_sleeping") {
			say(http.StatusOK, answer)
			return
		}
		say(http.StatusNotFound, "no such route")
		return
	}
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body) // the body may be empty
	s.asked = append(s.asked, fmt.Sprint(r.URL.String(), " ", body))
	switch r.URL.Path {
	case "/pause_generation", "/continue_generation":
		say(http.StatusOK, "ok")
	case "/wake_up", "/resume_memory_occupation", "/load":
		s.asleep = false
		s.goesTo(serverHolds, time.Second)
		say(http.StatusOK, "ok")
	case "/sleep", "/release_memory_occupation", "/api/generate", "/free", "/models/unload", "/api/models/unload":
		s.release(w, r, say)
	default:
		say(http.StatusNotFound, "no such route")
	}
}

func (s *standIn) release(w http.ResponseWriter, r *http.Request, say func(int, any)) {
	left := serverKeeps
	if endsItsProcess[s.kind] {
		left = 0
	}
	switch s.fault {
	case "500":
		say(http.StatusInternalServerError, "CUDA error, said to "+r.Header.Get("Authorization"))
	case "hang":
		s.mu.Unlock()
		<-r.Context().Done()
		s.mu.Lock()
	case "half an answer":
		w.Header().Set("Content-Length", "100")
		say(http.StatusOK, "{")
	case "dies":
		_ = s.child.Process.Kill() // its memory ends with it
		_ = s.child.Wait()
		s.goesTo(0, 0)
		connection, _, _ := http.NewResponseController(w).Hijack()
		_ = connection.Close()
	case "slow":
		s.goesTo(left, 5*time.Second)
		say(http.StatusOK, "ok")
	case "wakes":
		s.goesTo(left, 200*time.Millisecond)
		s.goesTo(serverHolds, 800*time.Millisecond)
		say(http.StatusOK, "ok")
	case "liar":
		say(http.StatusOK, "ok")
	default:
		s.asleep = true
		s.goesTo(left, 400*time.Millisecond)
		say(http.StatusOK, "ok")
	}
}

// endsItsProcess lists the kinds that keep the memory in a separate process, and free it by ending
// that process.
var endsItsProcess = map[string]bool{"ollama": true, "llama.cpp": true, "llama-swap": true}

const bearer = "Bearer secret-1234"

// TestServersThroughBadCases puts each server through what can go wrong.
func TestServersThroughBadCases(t *testing.T) {
	t.Setenv("VRAMSCOPE_TEST_KEY", "secret-1234")
	type want struct {
		outcome, says string // for the result
		err           string
		refused       bool
		pending       bool // the release was reported as pending meanwhile
	}
	const over = "it answered, and in 10s the driver's figure has not fallen"
	ends := func(w want) map[string]want { return map[string]want{"ollama": w, "llama.cpp": w, "llama-swap": w} }
	for fault, c := range map[string]struct {
		want
		of map[string]want // for kinds that differ
	}{
		"right":               {want{outcome: "flushed", says: "asleep: NAME (PID 7): 38.0G to 1.00G, freed 37.0G in"}, ends(want{outcome: "flushed", says: "38.0G to 0, freed 38.0G in"})},
		"slow":                {want{outcome: "flushed", says: "asleep: NAME (PID 7): 38.0G to 1.00G", pending: true}, ends(want{outcome: "flushed", says: "38.0G to 0", pending: true})},
		"liar":                {want{outcome: "nothing_freed", says: "nothing freed by NAME (PID 7): 38.0G to 38.0G: " + over, pending: true}, nil},
		"500":                 {want{err: "500 "}, nil},
		"hang":                {want{err: "has not answered in 10s: it may still happen"}, nil},
		"half an answer":      {want{err: "half an answer"}, nil},
		"another program":     {want{err: "does not answer as NAME does", refused: true}, map[string]want{"paths": {outcome: "nothing_freed", says: over, pending: true}}},
		"credentials refused": {want{err: "401 it does not take the key", refused: true}, map[string]want{"paths": {err: "401 it does not take the key"}}},
		"dies":                {want{err: "has ended meanwhile"}, map[string]want{"ollama": {err: "EOF"}, "llama.cpp": {err: "EOF"}, "llama-swap": {err: "EOF"}, "paths": {err: "EOF"}}},
		"wakes":               {want{outcome: "nothing_freed", says: "it has taken 37.0G again"}, ends(want{outcome: "nothing_freed", says: "it has taken 38.0G again"})},
	} {
		for kind, name := range map[string]string{"vllm": "vLLM", "sglang": "SGLang", "ollama": "Ollama", "llama.cpp": "llama.cpp", "llama-swap": "llama-swap", "comfyui": "ComfyUI", "paths": "its server"} {
			t.Run(fault+"/"+kind, func(t *testing.T) {
				s, f := newStandIn(t, kind, fault)
				expect, differs := c.of[kind]
				if !differs {
					expect = c.want
				}
				if kind != "paths" {
					name += " 17.0.0"
				}
				pending := false
				r := Request{Process: s.id, Level: Sleep, Origin: action.Command("flush"), Progress: func(so Result) { pending = pending || so.Outcome() == "pending" }}
				result, err := f.Run(t.Context(), r)
				says := strings.Replace(result.Sentence(fmt.Sprint(s.id.PID)), fmt.Sprintf("(PID %d)", s.id.PID), "(PID 7)", 1)
				switch {
				case expect.err == "" && err != nil, expect.err != "" && err == nil:
					t.Fatalf("%s: %v", says, err)
				case err != nil && (!strings.Contains(err.Error(), strings.Replace(expect.err, "NAME", strings.TrimSuffix(name, " 17.0.0"), 1)) || action.Refused(err) != expect.refused):
					t.Errorf("it fails with %v, refused: %v", err, action.Refused(err))
				case err == nil && (result.Outcome() != expect.outcome || !strings.Contains(says, strings.Replace(expect.says, "NAME", name, 1)) || pending != expect.pending && fault != "wakes"):
					t.Errorf("%s, pending: %v: %s", result.Outcome(), pending, says)
				}
				if expect.refused && len(s.asked) > 0 {
					t.Errorf("it was asked: %q", s.asked)
				}
				log, _ := os.ReadFile(f.Log.Path())
				if text := fmt.Sprint(err, says, string(log)); strings.Contains(text, "secret-1234") {
					t.Errorf("the key is in %s", text)
				}
				if lines := strings.Count(string(log), "\n"); lines != 2 && !expect.refused || lines != 1 && expect.refused {
					t.Errorf("the audit log has\n%s", log)
				}
			})
		}
	}
}

// TestServersAreLeftAlone: a server that is busy, too old, asleep or unable to release memory is
// not asked.
func TestServersAreLeftAlone(t *testing.T) {
	t.Setenv("VRAMSCOPE_TEST_KEY", "secret-1234")
	for name, c := range map[string]struct {
		kinds  []string
		fault  string
		change func(*standIn)
		want   string
	}{
		"busy":               {[]string{"vllm", "sglang", "llama.cpp", "llama-swap", "comfyui"}, "", func(s *standIn) { s.requests = 2 }, "is busy: it has 2 requests"},
		"old":                {[]string{"vllm", "sglang", "ollama", "comfyui"}, "", func(s *standIn) { s.version = "0.2.9rc1" }, "cannot sleep: it is version 0.2.9rc1: before"},
		"asleep":             {[]string{"vllm", "ollama", "llama.cpp", "llama-swap"}, "", func(s *standIn) { s.asleep = true }, "sleeps already"},
		"asleep for others":  {[]string{"sglang"}, "", func(s *standIn) { s.used = serverKeeps }, "may sleep already"},
		"not started for it": {[]string{"vllm", "sglang", "llama.cpp"}, "not started for it", nil, "cannot sleep: it "},
		"nonsense":           {[]string{"llama.cpp", "llama-swap"}, "", func(s *standIn) { s.requests = -7 }, "does not say whether it is busy"},
		"more than a place":  {[]string{"llama-swap"}, "", func(s *standIn) { s.proxy = strings.Replace(s.proxy, "//", "//user:word@", 1) }, "does not say whether it is busy"},
		"not on loopback":    {[]string{"llama-swap"}, "", func(s *standIn) { s.proxy = strings.Replace(s.proxy, "localhost", "0.0.0.0", 1) }, "does not say whether it is busy"},
		"no version":         {[]string{"vllm", "sglang", "ollama", "llama.cpp", "llama-swap", "comfyui"}, "", func(s *standIn) { s.version = "" }, "does not answer as "},
		"no figure":          {[]string{"vllm", "paths"}, "", func(s *standIn) { s.used = 0 }, "the driver reports no memory of"},
		"a figure unknown":   {[]string{"vllm", "paths"}, "", func(s *standIn) { s.unknown = true }, "the driver reports no memory of"},
		"another identity":   {[]string{"vllm"}, "", func(s *standIn) { s.id.StartTime++ }, "has ended"},
	} {
		for _, kind := range c.kinds {
			s, f := newStandIn(t, kind, c.fault)
			if c.change != nil {
				c.change(s)
			}
			_, err := f.Run(t.Context(), Request{Process: s.id, Level: Sleep, Origin: action.Command("flush")})
			if !action.Refused(err) || !strings.Contains(err.Error(), c.want) || len(s.asked) > 0 {
				t.Errorf("%s, %s: %v; asked: %q", name, kind, err, s.asked)
			}
		}
	}
}

// TestServersWake: each server is woken in the way that fits how it was put to sleep. If it is known
// to be awake, it is not asked.
func TestServersWake(t *testing.T) {
	t.Setenv("VRAMSCOPE_TEST_KEY", "secret-1234")
	wants := map[string][]string{
		"vllm": {"/sleep?level=1&mode=wait map[]", "/wake_up map[]"}, "paths": {"/free map[]", "/load map[]"},
		"sglang": {"/pause_generation map[mode:retract]", "/release_memory_occupation map[tags:[kv_cache weights]]",
			"/resume_memory_occupation map[tags:[kv_cache weights]]", "/continue_generation map[]"},
		"ollama": {"/api/generate map[keep_alive:0 model:llama]"}, "llama.cpp": {"/models/unload map[model:llama]"},
		"llama-swap": {"/api/models/unload map[]"}, "comfyui": {"/free map[free_memory:true unload_models:true]"},
	}
	for kind, want := range wants {
		s, f := newStandIn(t, kind, "")
		wake := Request{Process: s.id, Level: Wake, Origin: action.Command("resume")}
		if _, err := f.Run(t.Context(), wake); kind != "paths" && !action.Refused(err) {
			t.Errorf("%s wakes while it is awake: %v", kind, err)
		}
		if _, err := f.Run(t.Context(), Request{Process: s.id, Level: Sleep, Origin: action.Command("flush")}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Run(t.Context(), Request{Process: s.id, Level: Sleep, Origin: action.Command("flush")}); !action.Refused(err) && kind != "comfyui" { // ComfyUI does not say that it sleeps
			t.Errorf("%s is put to sleep twice: %v", kind, err)
		}
		result, err := f.Run(t.Context(), wake)
		if says := result.Sentence(""); len(want) > 1 && (err != nil || result.Outcome() != "woken" || !strings.Contains(says, "1.00G to 38.0G, took 37.0G in")) {
			t.Errorf("%s: %s, %v", kind, says, err)
		}
		if len(want) == 1 && (!action.Refused(err) || !strings.Contains(err.Error(), " loads a model again with the next request for it")) {
			t.Errorf("%s wakes by itself: %v", kind, err)
		}
		if kind == "paths" || kind == "comfyui" { // whether these sleep is unknown, so one request was sent twice
			s.asked = s.asked[len(s.asked)-len(want):]
		}
		if !slices.Equal(s.asked, want) {
			t.Errorf("%s was asked %q", kind, s.asked)
		}
	}
}

// TestServersGoOnAfterARefusal: SGLang, which was paused for a release that failed, continues.
func TestServersGoOnAfterARefusal(t *testing.T) {
	t.Setenv("VRAMSCOPE_TEST_KEY", "secret-1234")
	s, f := newStandIn(t, "sglang", "500")
	_, err := f.Run(t.Context(), Request{Process: s.id, Level: Sleep, Origin: action.Command("flush")})
	if last := s.asked[len(s.asked)-1]; err == nil || last != "/continue_generation map[]" {
		t.Errorf("%v; last asked: %s", err, last)
	}
	for _, level := range []Level{Sleep, Wake} {
		if _, err = f.Run(t.Context(), Request{Process: s.id, Level: level, Origin: action.Command("resume")}); !action.Refused(err) {
			t.Errorf("%s: it is asked, and it is not known whether it sleeps: %v", level, err)
		}
	}
}

// TestServerThatIsLeftWhilePending: Ctrl-C ends the wait, but not the release.
func TestServerThatIsLeftWhilePending(t *testing.T) {
	t.Setenv("VRAMSCOPE_TEST_KEY", "secret-1234")
	s, f := newStandIn(t, "vllm", "liar")
	ctx, stop := context.WithCancel(t.Context())
	result, err := f.Run(ctx, Request{Process: s.id, Level: Sleep, Origin: action.Command("flush"), Progress: func(Result) { stop() }})
	if err != nil || result.Outcome() != "pending" || result.Done() {
		t.Errorf("%s, %v", result.Outcome(), err)
	}
	if _, err := f.ask(t.Context(), Request{Process: process.Identity{PID: os.Getpid()}, Level: Sleep}, s.sample(ctx)); !action.Refused(err) {
		t.Error(errors.Unwrap(err))
	}
}
