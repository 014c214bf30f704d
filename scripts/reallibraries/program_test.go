//go:build linux && cgo

package reallibraries

import (
	"bufio"
	"bytes"
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

// gpus is how many GPUs every box has.
const gpus = 2

// job is how a program with a real library is started.
type job struct {
	vramscope, site string
	how             string   // the way in which a probe gets into the program
	command         []string // default: the library's job
	settings        []string
}

// The ways in which a probe gets into a program.
const (
	byRun      = "run"
	byAttach   = "attach"
	withShim   = "run --preload"
	withRescue = "run --rescue"
	unprobed   = "none"
)

// program is a running job. Its pid is that of the process that allocates: the job's own, or a
// forked child's.
type program struct {
	t           *testing.T
	job         job
	environment []string
	own         string  // its directory for sockets, and for the log
	capacity    []int64 // of each device, in bytes
	pid         int
	input       io.WriteCloser
	answers     *bufio.Scanner
	questions   *int // how often vramscope was asked about the job
}

// releases returns the folders of a library's releases that scripts/real-libraries has
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

// beyondCore skips a test that is not part of the core.
func beyondCore(t *testing.T) {
	t.Helper()
	if os.Getenv("VRAMSCOPE_REAL_CORE") != "" {
		t.Skip("not of the core")
	}
}

// start starts a job on a box of its own, and waits until the job has imported the
// library. The job ends with the test.
func start(t *testing.T, j job) *program {
	t.Helper()
	p := box(t, j)
	p.launch()
	return p
}

// box makes a box for a job. more has the folders of further libraries, for other jobs on the box.
func box(t *testing.T, j job, more ...string) *program {
	t.Helper()
	runtime, err := fakedriver.CompileRuntime()
	if err != nil {
		t.Fatal(err)
	}
	standIns, err := fakedriver.CompileStandIns(append(more, j.site)...)
	if err != nil {
		t.Fatal(err)
	}
	machine := fakedriver.Box(gpus, 0)
	machine.Driver = fakedriver.RuntimeDriver()
	state := filepath.Join(t.TempDir(), "state")
	machine.MustWrite(t, state)
	p := &program{t: t, job: j}
	for _, gpu := range machine.GPUs {
		p.capacity = append(p.capacity, int64(gpu.Free))
	}
	library := fakedriver.Build(t, fakedriver.Current)
	// In a directory of its own the program finds no other probes and no configuration, and the path is short enough for sockets.
	if p.own, err = os.MkdirTemp("", "real-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(p.own) }) // an error leaves files in the temporary directory only
	p.environment = append(os.Environ(), fakedriver.Environment(library, state, runtime, standIns)...)
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		p.environment = append(p.environment, name+"="+p.own)
	}
	return p
}

// beside starts another job on the same box.
func (p *program) beside(j job) *program {
	other := *p
	other.job = j
	other.launch()
	return &other
}

func (p *program) launch() {
	j := p.job
	command := slices.Clone(j.command)
	switch j.how {
	case unprobed:
	case byAttach:
		needs.Tool(p.t, "gdb")
	case withShim:
		command = append([]string{j.vramscope, "run", "--preload", "--"}, command...)
	case withRescue:
		command = append([]string{j.vramscope, "run", "--rescue", "--"}, command...)
	default:
		command = append([]string{j.vramscope, "run", "--"}, command...)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(slices.Clone(p.environment), "PYTHONPATH="+j.site, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, j.settings...)
	p.run(cmd)
}

func (p *program) run(cmd *exec.Cmd) {
	p.t.Helper()
	errors := filepath.Join(p.t.TempDir(), "stderr")
	stderr, err := os.Create(errors)
	if err != nil {
		p.t.Fatal(err)
	}
	defer stderr.Close() // the program has a descriptor of its own
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
		_ = p.input.Close() // fails if the program has ended already
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
		p.t.Fatalf("the library is missing: %s", first.Missing)
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

// begin makes the program allocate in one of its ways: in its own process, or in a
// forked child with these settings, which ends with the test. Then begin waits for the
// probe.
func (p *program) begin(t *testing.T, way string, fork bool, settings map[string]string) *program {
	t.Helper()
	begun := *p
	begun.t, begun.questions = t, new(int)
	begun.must("begin", map[string]any{"way": way, "fork": fork, "environment": settings}, &begun.pid)
	if fork {
		t.Cleanup(func() { begun.must("end", nil, new(int)) })
	}
	if p.job.how == byAttach {
		if _, err := begun.vramscope("attach", strconv.Itoa(begun.pid), "--yes"); err != nil {
			t.Fatal(err)
		}
	}
	return &begun
}

// step makes the program do a step, which may fail.
func (p *program) step(name string, arguments map[string]any, into any) error {
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
		return fmt.Errorf("%s: %s", name, answer.Error)
	}
	return json.Unmarshal(answer.OK, into)
}

func (p *program) must(name string, arguments map[string]any, into any) {
	p.t.Helper()
	if err := p.step(name, arguments, into); err != nil {
		p.t.Fatal(err)
	}
}

// vramscope runs a command of vramscope on the program's box, and returns the output.
// On a busy machine a probe may answer too late: then the command runs again.
func (p *program) vramscope(arguments ...string) (out []byte, err error) {
	eventually(func() bool {
		cmd := exec.Command(p.job.vramscope, arguments...)
		var said bytes.Buffer
		cmd.Env, cmd.Stderr = p.environment, &said
		*p.questions++
		if out, err = cmd.Output(); err != nil {
			err = fmt.Errorf("vramscope %s: %w\n%s%s", strings.Join(arguments, " "), err, out, said.Bytes())
		}
		return err == nil || !strings.Contains(err.Error(), "does not answer") && !strings.Contains(err.Error(), "gives no valid answer")
	})
	return out, err
}

// eventually repeats a comparison until it holds, and gives up after a time that is enough for a
// busy machine.
func eventually(holds func() bool) {
	for deadline := time.Now().Add(40 * time.Second); !holds() && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
	}
}
