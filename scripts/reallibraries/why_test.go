//go:build linux && cgo

package reallibraries

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// whyStory is an out-of-memory error with a known cause. The neighbour allocates before the program
// does, unless later is set.
type whyStory struct {
	name      string
	settings  string   // of the allocator
	neighbour string   // first: what the neighbour does
	before    string   // second: what the program does
	meanwhile []string // third: what the neighbour does
	fails     string   // last: what the program does, which ends with the error
	both      bool     // the neighbour runs fails, too, at the same time
	later     bool     // the neighbour starts only when the program is done with the code in before
	want      string

	// Evidence that is withheld.
	noProbe bool // in the program
	hidden  bool // the driver lists no processes, and the neighbour has no probe
	late    bool // the recording begins only before the last step
}

// The names that all stories can use, in Python.
const whyNames = `
import time
GIB = 1 << 30
def take(count, size=GIB, pause=.02):
    for _ in range(count):
        held.append(tensors(torch, [size])); time.sleep(pause)
def train(steps, each):
    p = torch.nn.Parameter(torch.zeros(8)); p.grad = torch.zeros(8)
    optimizer = torch.optim.SGD([p], lr=.1)
    for step in range(steps):
        each(step); optimizer.step(); time.sleep(.1)
def hold(size): return lambda step: tensors(torch, [size])
def rising(step): held.append(tensors(torch, [256 * MIB])); tensors(torch, [8 * GIB])
def room(): return torch.cuda.mem_get_info()[0]
held.clear(); torch.cuda.empty_cache()
`

// whyFragments reserves half the memory, and leaves a third of each segment allocated.
const whyFragments = `
whole = [tensors(torch, [1536 * MIB]) for _ in range(room() // 2 // (1536 * MIB) - 1)]
del whole
pieces = [tensors(torch, [500 * MIB]) for _ in range(torch.cuda.memory_reserved() // (512 * MIB))]
held.append(pieces[::3]); del pieces; time.sleep(2)
`

var whyStories = []whyStory{
	{name: "larger than the GPU", fails: "take(1, 200 * GIB)", want: "too_large"},
	{name: "larger than the GPU less its context", fails: "take(1, torch.cuda.mem_get_info()[1] - 200 * MIB)", want: "too_large"},
	{name: "a fraction of the memory", before: "torch.cuda.set_per_process_memory_fraction(.25); take(15)", fails: "take(1, 10 * GIB)", want: "limit"},
	{name: "fragments", before: whyFragments + "take(1, room() - 2 * GIB)", fails: "take(1, 10 * GIB)", want: "fragmentation"},
	{name: "fragments beside a neighbour that grew", before: whyFragments, meanwhile: []string{"take(1, room() - 2 * GIB)"},
		fails: "take(1, 10 * GIB)", want: "fragmentation"},
	{name: "a larger batch", before: "take(20); train(30, hold(10 * GIB))", fails: "take(1, 62 * GIB)", want: "own_growth"},
	{name: "growth in expandable segments", settings: "expandable_segments:True", before: "take(30)", fails: "take(60)", want: "own_growth"},
	{name: "an error that was caught, then another", before: "take(60); time.sleep(1)\ntry: take(1, 30 * GIB)\nexcept torch.cuda.OutOfMemoryError: pass\ntime.sleep(1)",
		fails: "take(1, 25 * GIB)", want: "own_growth"},
	{name: "a leak", fails: "train(1000, lambda step: held.append(tensors(torch, [400 * MIB])))", want: "leak"},
	{name: "a leak below what each step takes", fails: "train(1000, rising)", want: "leak"},
	{name: "a neighbour that grew", neighbour: "take(4)", before: "take(20); train(20, hold(10 * GIB)); torch.cuda.empty_cache()", meanwhile: []string{"take(48)"},
		fails: "take(1, 10 * GIB)", want: "neighbour"},
	{name: "a neighbour that has just started", later: true, before: "take(20); train(20, hold(10 * GIB)); torch.cuda.empty_cache()", meanwhile: []string{"take(50)"},
		fails: "take(1, 10 * GIB)", want: "neighbour"},
	{name: "a neighbour that was there before", neighbour: "take(50); time.sleep(2)", before: "time.sleep(1)", fails: "take(60, GIB, .1)", want: "own_growth"},
	{name: "two that race", neighbour: "time.sleep(1)", before: "time.sleep(1)", fails: "take(200, 512 * MIB, .05)", both: true, want: "neighbour"},

	{name: "no probe", noProbe: true, before: "take(60)", fails: "take(60)", want: "cannot_tell"},
	{name: "a neighbour that the driver does not list", hidden: true, neighbour: "take(4)", before: "take(20); train(20, hold(10 * GIB)); torch.cuda.empty_cache()",
		meanwhile: []string{"take(48)"}, fails: "take(1, 10 * GIB)", want: "cannot_tell"},
	{name: "a recording that begins after the growth", late: true, neighbour: "take(48)", before: "take(26)", fails: "take(1, 10 * GIB)", want: "cannot_tell"},
}

// TestWhyStories plays stories to a recording daemon, and compares the verdicts of
// vramscope why with the causes.
func TestWhyStories(t *testing.T) {
	beyondCore(t)
	sites, vramscope := releases(t, "torch"), needs.Vramscope(t)
	for _, site := range sites {
		t.Run(filepath.Base(site), func(t *testing.T) {
			j := jobOf(vramscope, site)
			p := start(t, j)
			j.how = unprobed
			w := &whyBox{t: t, probed: p, unprobed: p.beside(j), box: fakedriver.Box(gpus, 0)}
			w.neighbour = w.probed.beside(p.job)
			w.box.Driver = fakedriver.RuntimeDriver()
			for _, s := range whyStories {
				if only := os.Getenv("VRAMSCOPE_REAL_STORY"); only == "" || strings.Contains(s.name, only) {
					t.Run(s.name, func(t *testing.T) { w.play(t, s) })
				}
			}
		})
	}
}

// whyBox is a box with programs that take part in stories.
type whyBox struct {
	t                           *testing.T
	probed, unprobed, neighbour *program
	box                         fakedriver.State
}

func (w *whyBox) play(t *testing.T, s whyStory) {
	if s.hidden {
		w.box.Fail("nvmlDeviceGetComputeRunningProcesses*", fakedriver.NoPermission)
		w.write(t)
		defer func() { w.box.Heal(); w.write(t) }()
	}
	var recording string
	if !s.late {
		recording = w.record(t)
	}
	settings := conf(s.settings)
	failing, other := w.probed, w.neighbour
	if s.noProbe {
		failing = w.unprobed
	}
	if s.hidden {
		other = w.unprobed
	}
	beside := func() {
		other = other.begin(t, "plain", true, nil)
		other.do(whyNames + s.neighbour)
	}
	failing = failing.begin(t, "plain", true, settings)
	failing.do(whyNames)
	if s.neighbour != "" {
		beside()
	}
	failing.do(s.before)
	if s.later {
		beside()
	}
	if len(s.meanwhile) > 0 && s.neighbour == "" && !s.later {
		beside()
	}
	for _, what := range s.meanwhile {
		other.do(what)
	}
	if s.late {
		recording = w.record(t)
		time.Sleep(4 * time.Second) // long enough to know that nothing grows any more
	}
	time.Sleep(1500 * time.Millisecond) // some samples of this state
	var both sync.WaitGroup
	if s.both {
		both.Go(func() { _ = other.step("do", map[string]any{"code": s.fails}, new(any)) }) // it fails, too
	}
	err := failing.step("do", map[string]any{"code": s.fails}, new(any))
	switch {
	case err != nil && s.hidden && strings.Contains(err.Error(), "NVML_SUCCESS == r"):
		both.Wait()
		t.Skipf("this PyTorch asserts that the driver lists processes, and has no out-of-memory error: %v", err)
	case err == nil || !strings.Contains(err.Error(), "out of memory"):
		t.Fatalf("it did not run out of memory: %v", err)
	}
	both.Wait()
	w.verdict(t, s, recording, failing.pid, other.pid)
}

func (w *whyBox) write(t *testing.T) {
	for _, setting := range w.probed.environment {
		if path, ok := strings.CutPrefix(setting, "VRAMSCOPE_FAKE_STATE="); ok {
			w.box.MustWrite(t, path)
		}
	}
}

// record starts a daemon with a recording of its own, and returns the recording's folder. Root's
// daemon would use the machine's /var/lib and /run, so it gets its own.
func (w *whyBox) record(t *testing.T) string {
	t.Helper()
	own, err := os.MkdirTemp(w.probed.own, "recorded-")
	if err != nil {
		t.Fatal(err)
	}
	command := []string{w.probed.job.vramscope, "daemon", "--record", "--interval", "200ms"}
	recording := filepath.Join(own, "vramscope", "recordings")
	if os.Geteuid() == 0 {
		recording = filepath.Join(own, "vramscope")
		command = append([]string{"sh", "-c", `mount --bind "$0" /var/lib && mount --bind "$0" /run && exec "$@"`, own}, command...)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(slices.Clone(w.probed.environment), "XDG_STATE_HOME="+own)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	log, err := os.Create(filepath.Join(own, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the daemon has a descriptor of its own
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		err := cmd.Wait()
		if said, _ := os.ReadFile(log.Name()); err != nil || t.Failed() { // only to explain
			t.Errorf("the daemon: %v\n%s", err, said)
		}
	})
	eventually(func() bool {
		found, _ := filepath.Glob(filepath.Join(recording, "*.db"))
		return len(found) > 0
	})
	return recording
}

// verdict waits until the event is recorded, and compares the verdict of vramscope why with the story's.
func (w *whyBox) verdict(t *testing.T, s whyStory, recording string, pid, neighbour int) {
	t.Helper()
	var got struct {
		Verdict   string
		Reasons   []string
		Missing   []string
		Requested *int64 `json:"requested_bytes"`
		By        *struct{ PID *int }
		Stack     []string
		Held      []struct {
			Class, Name string
			Bytes       int64
		}
		Advice   []any
		NoAdvice *string `json:"no_advice"`
	}
	arguments := []string{"why", "--file", recording, strconv.Itoa(pid)}
	time.Sleep(3 * time.Second) // a recording is committed every two seconds
	eventually(func() bool {
		out, err := w.probed.asked("json", arguments)
		if err != nil {
			return false
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		return got.Requested != nil || s.noProbe
	})
	if got.Verdict != s.want || (got.Requested == nil) != s.noProbe {
		page, err := w.probed.asked("text", arguments)
		t.Errorf("%q, want %s\n%s%v", got.Verdict, s.want, page, err)
	}
	if s.want == "neighbour" && (got.By == nil || got.By.PID == nil || *got.By.PID != neighbour) {
		t.Errorf("by %+v, want PID %d: %q", got.By, neighbour, got.Reasons)
	}
	if (len(got.Stack) == 0) != s.noProbe || !s.noProbe && !strings.HasPrefix(got.Stack[0], "torch_ways.py:") || len(got.Advice) == 0 == (got.NoAdvice == nil) {
		t.Errorf("the line is %q, the advice %v, or none: %t", got.Stack, got.Advice, got.NoAdvice != nil)
	}
	t.Logf("%s: %q; at %q, held by %v; %d remedies", got.Verdict, append(got.Reasons, got.Missing...), got.Stack, got.Held, len(got.Advice))
}

func (p *program) asked(format string, arguments []string) ([]byte, error) {
	cmd := exec.Command(p.job.vramscope, append(arguments, "--format", format)...)
	cmd.Env = p.environment
	return cmd.CombinedOutput()
}
