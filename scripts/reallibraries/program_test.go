//go:build linux && cgo

package reallibraries

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// contextBytes is what a context costs on the fake driver.
const contextBytes = 500 << 20

var sprintf = fmt.Sprintf

// program is torch_job.py below vramscope run. Its pid is that of the job which it
// has begun: its own, or a forked child's.
type program struct {
	t           *testing.T
	vramscope   string
	environment []string
	capacity    []int64 // of each device, in bytes
	pid         int
	input       io.WriteCloser
	answers     *bufio.Scanner
}

// figures are PyTorch's own, in bytes. The last two are unknown for cudaMallocAsync.
type figures struct {
	Reserved, Active, OOMs, Free int64
	Segments, Blocks             *int64
}

// row is what vramscope once has of a process on a GPU. What is null is 0 here.
type row struct {
	PID        int
	Used       int64 `json:"used_bytes"`
	Allocated  int64 `json:"allocated_bytes"`
	Cached     int64 `json:"cached_bytes"`
	Fragmented int64 `json:"fragmented_bytes"`
	Other      int64 `json:"other_bytes"`
	Returnable int64 `json:"returnable_bytes"`
	Allocators []struct {
		Kind string
		OOMs int64 `json:"out_of_memory_count"`
	}
}

// releases are the folders of a library's releases that scripts/real-libraries has
// installed.
func releases(t *testing.T, library string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.Getenv("VRAMSCOPE_REAL_LIBRARIES"), library+"-*"))
	if err != nil {
		t.Fatal(err)
	}
	if wanted := os.Getenv("VRAMSCOPE_REAL_RELEASES"); wanted != "" {
		found = slices.DeleteFunc(found, func(site string) bool {
			return !slices.Contains(strings.Split(wanted, ","), filepath.Base(site))
		})
	}
	if os.Getenv("VRAMSCOPE_REAL_LIBRARIES") == "" || len(found) == 0 {
		t.Skipf("no real %s: scripts/real-libraries installs it and runs this", library)
	}
	return found
}

func build(t *testing.T) string {
	t.Helper()
	needs.Tool(t, "python3")
	binary := filepath.Join(t.TempDir(), "vramscope")
	if out, err := exec.Command("go", "build", "-o", binary, "vramscope").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// start starts the program on a box of two GPUs and waits until it has imported
// the library. It ends with the test.
func start(t *testing.T, vramscope, site string, settings ...string) *program {
	t.Helper()
	runtime, err := fakedriver.CompileRuntime()
	if err != nil {
		t.Fatal(err)
	}
	standIns, err := fakedriver.CompileStandIns(site)
	if err != nil {
		t.Fatal(err)
	}
	box := fakedriver.Box(2, 0)
	box.Driver = fakedriver.RuntimeDriver()
	state := filepath.Join(t.TempDir(), "state")
	box.MustWrite(t, state)
	p := &program{t: t, vramscope: vramscope}
	for _, gpu := range box.GPUs {
		p.capacity = append(p.capacity, int64(gpu.Free))
	}
	library := fakedriver.Build(t, fakedriver.Current)
	p.environment = append(os.Environ(), fakedriver.Environment(library, state, runtime, standIns)...)
	cmd := exec.Command(vramscope, "run", "--", "python3", "torch_job.py")
	cmd.Env = append(slices.Clone(p.environment), "PYTHONPATH="+site, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, settings...)
	p.run(cmd)
	return p
}

// begin makes the program allocate in one of its ways: itself, or in a forked child
// with these settings, which ends with the test.
func (p *program) begin(t *testing.T, way string, fork bool, settings map[string]string) *program {
	t.Helper()
	job := *p
	job.t = t
	job.step(&job.pid, "begin", map[string]any{"way": way, "fork": fork, "environment": settings})
	if fork {
		t.Cleanup(func() {
			var ended int
			job.step(&ended, "end", nil)
		})
	}
	return &job
}

func (p *program) run(cmd *exec.Cmd) {
	p.t.Helper()
	errors := filepath.Join(p.t.TempDir(), "stderr")
	stderr, err := os.Create(errors)
	if err != nil {
		p.t.Fatal(err)
	}
	defer stderr.Close() // the program has its own
	cmd.Stderr = stderr
	if p.input, err = cmd.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.answers = bufio.NewScanner(output)
	p.t.Cleanup(func() {
		_ = p.input.Close() // it may have ended before
		err := cmd.Wait()
		if said, _ := os.ReadFile(errors); err != nil || p.t.Failed() { // only to explain
			p.t.Logf("the program: %v\n%s", err, said)
		}
		if err != nil {
			p.t.Fail()
		}
	})
	var first struct{ Version, Missing string }
	p.read(&first)
	if first.Version == "" {
		p.t.Fatalf("no PyTorch: %s", first.Missing)
	}
}

func (p *program) read(into any) {
	p.t.Helper()
	if !p.answers.Scan() {
		p.t.Fatalf("the program has ended: %v", p.answers.Err())
	}
	if err := json.Unmarshal(p.answers.Bytes(), into); err != nil {
		p.t.Fatalf("%v in %s", err, p.answers.Text())
	}
}

// step has the program do a step.
func (p *program) step(into any, name string, arguments map[string]any) {
	p.t.Helper()
	request := map[string]any{"step": name}
	maps.Copy(request, arguments)
	if err := json.NewEncoder(p.input).Encode(request); err != nil {
		p.t.Fatal(err)
	}
	var answer struct {
		OK    json.RawMessage
		Error string
	}
	p.read(&answer)
	if answer.Error != "" {
		p.t.Fatalf("%s: %s", name, answer.Error)
	}
	if err := json.Unmarshal(answer.OK, into); err != nil {
		p.t.Fatalf("%s: %v in %s", name, err, answer.OK)
	}
}

// figures asks the program for its own of a device.
func (p *program) figures(device int) (own figures) {
	p.t.Helper()
	p.step(&own, "figures", map[string]any{"device": device})
	return own
}

// row is the program's in vramscope once; empty if it is not there.
func (p *program) row(device int) row {
	p.t.Helper()
	var document struct {
		GPUs []struct{ Processes []row }
	}
	p.ask(&document, "once", "--format", "json")
	if device < len(document.GPUs) {
		for _, r := range document.GPUs[device].Processes {
			if r.PID == p.pid {
				return r
			}
		}
	}
	return row{}
}

// flushed flushes the program, and is what vramscope says it has freed.
func (p *program) flushed() int64 {
	p.t.Helper()
	var document struct {
		Flush struct {
			Freed int64 `json:"freed_bytes"`
		}
	}
	p.ask(&document, "flush", strconv.Itoa(p.pid), "--yes", "--level", "urgent", "--format", "json")
	return document.Flush.Freed
}

func (p *program) ask(into any, arguments ...string) {
	p.t.Helper()
	cmd := exec.Command(p.vramscope, arguments...)
	cmd.Env = p.environment
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		p.t.Fatalf("vramscope %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

// eventually repeats a comparison until it holds, and gives up after a time that is
// long enough for a busy machine.
func (p *program) eventually(holds func() bool) {
	for deadline := time.Now().Add(20 * time.Second); !holds() && time.Now().Before(deadline); {
		time.Sleep(300 * time.Millisecond)
	}
}
