//go:build linux

package preload_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
	"vramscope/probe"
	"vramscope/probe/preload"
)

// timeout is for busy machines; what the tests wait for takes milliseconds.
const timeout = time.Minute

// tools are built once for all tests.
type tools struct {
	directory string
	driver    string // libnvidia-ml.so.1; libcuda.so.1 is beside it
	library   string // libvramscope.so
	err       error
}

var made = sync.OnceValue(func() tools {
	var w tools
	if w.directory, w.err = os.MkdirTemp("", "vramscope-preload-"); w.err != nil {
		return w
	}
	if w.driver, w.err = fakedriver.Compile(fakedriver.Current); w.err != nil {
		return w
	}
	w.library, w.err = preload.Install(filepath.Join(w.directory, "cache", "vramscope"))
	return w
})

func TestMain(m *testing.M) {
	needs.Parallel(2)
	code := m.Run()
	if w := made(); w.directory != "" {
		_ = os.RemoveAll(w.directory) // only temporary files
	}
	os.Exit(code)
}

// workshop returns the tools; without a compiler the test is skipped.
func workshop(t testing.TB) tools {
	t.Helper()
	w := made()
	switch {
	case errors.Is(w.err, fakedriver.ErrNoCompiler), errors.Is(w.err, preload.ErrNoLibrary):
		needs.Missing(t, "%v", w.err)
	case w.err != nil:
		t.Fatal(w.err)
	}
	return w
}

var building sync.Mutex

// build compiles C sources with some flags, once for all tests.
func build(t testing.TB, name string, sources []string, flags ...string) string {
	t.Helper()
	w := workshop(t)
	building.Lock()
	defer building.Unlock()
	path := filepath.Join(w.directory, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	arguments := []string{"-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I", "../../internal/fakedriver/cuda"}
	arguments = append(arguments, sources...)
	arguments = append(arguments, flags...)
	arguments = append(arguments, "-o", path, "-ldl", "-lpthread")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, compiler(), arguments...).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "cc"
}

var programSources = []string{"testdata/program.c", "testdata/find.c", "testdata/scenario.c",
	"testdata/memory_scenarios.c", "testdata/process_scenarios.c"}

// program returns the test program, linked with libcuda or loading it itself.
func program(t testing.TB, way string, flags ...string) string {
	t.Helper()
	name := "program-" + strings.NewReplacer(",", "", "=", "", "-", "").Replace(strings.Join(flags, ""))
	if way == "linked" {
		name = "linked" + name
		flags = append(flags, "-DLINKED", "-L", filepath.Dir(workshop(t).driver), "-lcuda")
	}
	return build(t, name, programSources, flags...)
}

// box is a fake machine with four GPUs and a runtime directory.
type box struct {
	testing.TB
	tools
	environ []string
	runtime string
	state   string               // file
	user    *syscall.SysProcAttr // whom programs run as; nil: this user
}

func newBox(t testing.TB) *box {
	t.Helper()
	b := &box{TB: t, tools: workshop(t)}
	// The path is as short as /run/user/1000; another test uses a longer one.
	runtime, err := os.MkdirTemp("", "vs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtime) }) // only temporary files
	b.runtime = runtime
	b.state = filepath.Join(t.TempDir(), "state")
	fakedriver.Box(4, 0).MustWrite(t, b.state)
	b.environ = append(os.Environ(), fakedriver.Environment(b.driver, b.state)...)
	b.environ = append(b.environ, "XDG_RUNTIME_DIR="+b.runtime, "LD_PRELOAD=")
	return b
}

// run is a running test program that waits for input.
type run struct {
	*box
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Scanner
	out    []string // the program's lines before "ready"
	stderr *strings.Builder
	errno  int // errno after its last call
	exited bool
}

// start starts a program and waits until it is ready.
func (b *box) start(preloaded bool, command ...string) *run {
	b.Helper()
	environ := slices.Clone(b.environ)
	if preloaded {
		environ = append(environ, "LD_PRELOAD="+b.library)
	}
	return b.startIn(environ, command...)
}

func (b *box) startIn(environ []string, command ...string) *run {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*timeout)
	b.Cleanup(cancel)
	r := &run{box: b, cmd: exec.CommandContext(ctx, command[0], command[1:]...), stderr: &strings.Builder{}}
	r.cmd.Env = environ
	r.cmd.SysProcAttr = b.user
	r.cmd.Stderr = r.stderr
	in, err := r.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	r.in = in
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if !r.exited {
			_ = r.cmd.Process.Kill() // the test has failed
			_ = r.cmd.Wait()
		}
	})
	r.lines = bufio.NewScanner(out)
	r.untilReady()
	return r
}

// again makes the program print the driver's stats once more.
func (r *run) again() []driverStats {
	r.Helper()
	if _, err := io.WriteString(r.in, "b"); err != nil {
		r.Fatal(err)
	}
	r.untilReady()
	return r.driverStats()
}

// untilReady reads the program's output up to "ready".
func (r *run) untilReady() {
	r.Helper()
	for r.out = nil; r.lines.Scan(); r.out = append(r.out, r.lines.Text()) {
		if r.lines.Text() == "ready" {
			return
		}
	}
	_ = r.cmd.Wait() // the reason is on stderr
	r.exited = true
	r.Fatalf("%q ended before it was ready: %v\n%s\n%s", r.cmd.Args, r.cmd.ProcessState, strings.Join(r.out, "\n"), r.stderr)
}

// end ends the program, and checks its exit status, 7, and that it has printed no error.
func (r *run) end() {
	r.Helper()
	if code, stderr := r.wait(); code != 7 || stderr != "" {
		r.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// wait ends the program, and returns its exit code and standard error.
func (r *run) wait() (code int, stderr string) {
	_ = r.in.Close()
	_ = r.cmd.Wait() // the exit code is returned
	r.exited = true
	return r.cmd.ProcessState.ExitCode(), r.stderr.String()
}

func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// socket returns the path of the program's socket, once it is listened on.
func (r *run) socket() string {
	r.Helper()
	pattern := filepath.Join(r.runtime, "vramscope", fmt.Sprintf("%d-*.sock", r.cmd.Process.Pid))
	path := ""
	await(r, "the socket "+pattern, func() bool {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) != 1 {
			return false
		}
		conn, err := net.Dial("unix", found[0])
		if err == nil {
			_ = conn.Close() // it only tested the listener
			path = found[0]
		}
		return err == nil
	})
	return path
}

// ask sends a request and decodes the answer.
func (r *run) ask(request string, into any) {
	r.Helper()
	conn, err := net.Dial("unix", r.socket())
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // the answer has been read
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		r.Fatal(err)
	}
	if _, err := io.WriteString(conn, request+"\n"); err != nil {
		r.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		r.Fatalf("%s: %v", request, err)
	}
	if err := json.Unmarshal(line, into); err != nil {
		r.Fatalf("%s: %v\n%s", request, err, line)
	}
}

func (r *run) report() probe.Report {
	r.Helper()
	var report probe.Report
	r.ask(`{"id":1,"cmd":"stats"}`, &report)
	return report
}

// driverStats are the fake driver's stats of a device, as the program printed them.
type driverStats struct {
	device                                   int
	linear, linearCount                      int64
	physical, physicalCount                  int64
	managed, managedCount, importedCount     int64
	poolsUsed, poolsReserved, graphsReserved int64
}

func (r *run) driverStats() []driverStats {
	r.Helper()
	var all []driverStats
	for _, line := range r.out {
		if !strings.HasPrefix(line, "stats ") {
			continue
		}
		var b driverStats
		if _, err := fmt.Sscanf(line, "stats %d %d %d %d %d %d %d %d %d %d %d", &b.device, &b.linear, &b.linearCount, &b.physical,
			&b.physicalCount, &b.managed, &b.managedCount, &b.importedCount, &b.poolsUsed, &b.poolsReserved,
			&b.graphsReserved); err != nil {
			r.Fatalf("%s: %v", line, err)
		}
		all = append(all, b)
	}
	if len(all) != 4 {
		r.Fatalf("stats of %d devices, want 4: %q", len(all), r.out)
	}
	return all
}
