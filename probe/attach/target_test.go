//go:build linux

package attach

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/probe"
)

// waitTime is how long a test waits for an event: long, for loaded machines.
const waitTime = 60 * time.Second

// target is a running program of testdata/targets.py.
type target struct {
	*testing.T
	name    string
	cmd     *exec.Cmd
	count   string // file
	input   io.WriteCloser
	output  *bufio.Reader
	errors  string // file
	runtime string // its XDG_RUNTIME_DIR
}

// runTarget starts a target and waits for its first step.
func runTarget(t *testing.T, python, name string, environ ...string) *target {
	t.Helper()
	// A socket's path must be short; t.TempDir contains the test's name.
	runtime, err := os.MkdirTemp("", "vramscope-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtime) }) // leftovers are in the temporary directory
	p := &target{T: t, name: name, count: filepath.Join(t.TempDir(), "count"), runtime: runtime}
	p.cmd = exec.Command(python, "-u", filepath.Join("testdata", "targets.py"), name, p.count)
	p.cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+runtime, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=", "VRAMSCOPE_PROBE_DEBUG=1")
	p.cmd.Env = append(p.cmd.Env, environ...)
	p.errors = p.count + ".errors"
	stderr, err := os.Create(p.errors)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stderr.Close() }() // the target has its own descriptor
	p.cmd.Stderr = stderr
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.output = bufio.NewReader(output)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have exited
		_ = p.cmd.Wait()         // its error does not matter
	})
	until(t, name+" to begin", func() bool { return p.done() > 0 })
	return p
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitTime); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

func (p *target) pid() int { return p.cmd.Process.Pid }

func (p *target) done() uint64 {
	content, err := os.ReadFile(p.count)
	if err != nil || len(content) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(content)
}

// counts reports whether the target keeps counting until it is asked to end.
func (p *target) counts() bool {
	switch p.name {
	case "reading", "locked", "derive", "power":
		return false
	}
	return true
}

// mustBeWell checks that the process is neither stopped nor traced, and still runs.
func (p *target) mustBeWell() {
	p.Helper()
	state, err := readStatus(p.Context(), "/proc", strconv.Itoa(p.pid()))
	if err != nil {
		p.Fatalf("%s has exited: %v", p.name, err)
	}
	if state.tracer != 0 || strings.ContainsRune("tTZX", rune(state.state)) {
		p.Fatalf("%s is in state %c, traced by %d", p.name, state.state, state.tracer)
	}
	if p.counts() {
		before := p.done()
		until(p.T, p.name+" to continue", func() bool { return p.done() > before })
	}
}

// mustComputeElsewhere skips the test if the library that "derive" uses is part of the interpreter:
// gdb can start a thread while that code runs.
func (p *target) mustComputeElsewhere() {
	p.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.pid()))
	if err != nil {
		p.Fatal(err)
	}
	if p.name == "derive" && !strings.Contains(string(content), "libcrypto") {
		p.Skip("this Python has libcrypto built in")
	}
}

// mustEndWell asks the target to end. The target then checks its own results.
func (p *target) mustEndWell() {
	p.Helper()
	if p.name == "locked" {
		if err := p.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
			p.Fatal(err)
		}
	} else if _, err := io.WriteString(p.input, "\n"); err != nil {
		p.Fatal(err)
	}
	line, err := p.output.ReadString('\n')
	if line != "done\n" {
		p.Fatalf("%s ends with %q, %v", p.name, line, err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.Fatalf("%s ends with %v", p.name, err)
	}
	p.mustBeSilent()
}

// forkWarning is what Python 3.12 and newer say of a fork with more than one thread.
var forkWarning = regexp.MustCompile(`(?m)^.*DeprecationWarning: This process .* is multi-threaded, .*\n  .*\n`)

// mustBeSilent checks that the target wrote nothing to standard error.
func (p *target) mustBeSilent() {
	p.Helper()
	printed, err := os.ReadFile(p.errors)
	if printed = forkWarning.ReplaceAll(printed, nil); err != nil || len(printed) > 0 {
		p.Errorf("%s printed %s, %v", p.name, printed, err)
	}
}

// pythons are this machine's interpreters from 3.8 to 3.14, by version.
var pythons = sync.OnceValue(func() map[string]string {
	found := make(map[string]string)
	names := []string{"python3"}
	for minor := 8; minor <= 14; minor++ {
		names = append(names, fmt.Sprintf("python3.%d", minor))
	}
	for _, name := range names {
		out, err := exec.Command(name, "-c", "import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)").Output()
		var major, minor int
		var path string
		if err != nil {
			continue
		}
		if _, err := fmt.Sscan(string(out), &major, &minor, &path); err != nil || major != 3 || minor < 8 || minor > 14 {
			continue
		}
		if version := fmt.Sprintf("%d.%d", major, minor); found[version] == "" {
			found[version] = path
		}
	}
	return found
})

// testAttacher returns an Attacher that waits for a loaded machine.
func testAttacher() *Attacher {
	table := process.NewTable("/proc")
	a := New(table, probe.NewFinder(table))
	a.timeout, a.answerTime = waitTime, waitTime
	return a
}

// examineAndEnter attaches as action/attach does, without the log.
func examineAndEnter(ctx context.Context, a *Attacher, id process.Identity) (Result, error) {
	plan := a.Examine(ctx, id)
	if refusal := plan.Refusal(); refusal != nil {
		return Result{}, refusal
	}
	return a.Enter(ctx, &plan)
}

func identify(t *testing.T, pid int) process.Identity {
	t.Helper()
	id, err := process.NewTable("/proc").Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
