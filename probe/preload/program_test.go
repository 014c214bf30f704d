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
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
	"vramscope/probe"
	"vramscope/probe/preload"
)

// patience is for machines that are busy with something else. What is waited
// for comes in milliseconds.
const patience = time.Minute

// tools are what the test programs are made with, made once.
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
	code := m.Run()
	if w := made(); w.directory != "" {
		_ = os.RemoveAll(w.directory) // what is left of it is in the temporary directory
	}
	os.Exit(code)
}

// workshop skips the test where programs cannot be built.
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

// build compiles C sources of testdata, once for all tests, with some flags.
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

var programSources = []string{"testdata/program.c", "testdata/find.c", "testdata/scenario.c"}

// program is the test program: linked with libcuda, or finding it itself.
func program(t testing.TB, way string, flags ...string) string {
	t.Helper()
	name := "program-" + strings.NewReplacer(",", "", "=", "", "-", "").Replace(strings.Join(flags, ""))
	if way == "linked" {
		name = "linked" + name
		flags = append(flags, "-DLINKED", "-L", filepath.Dir(workshop(t).driver), "-lcuda")
	}
	return build(t, name, programSources, flags...)
}

// box is a machine with four GPUs, and where its programs serve.
type box struct {
	testing.TB
	tools
	environ []string
	runtime string
	state   string // file
}

func newBox(t testing.TB) *box {
	t.Helper()
	b := &box{TB: t, tools: workshop(t)}
	// Short, as /run/user is: XDG_RUNTIME_DIR may be longer, another test shows that.
	runtime, err := os.MkdirTemp("", "vs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtime) }) // a socket more or less
	b.runtime = runtime
	b.state = filepath.Join(t.TempDir(), "state")
	fakedriver.Box(4, 0).MustWrite(t, b.state)
	b.environ = append(os.Environ(), fakedriver.Environment(b.driver, b.state)...)
	b.environ = append(b.environ, "XDG_RUNTIME_DIR="+b.runtime, "LD_PRELOAD=")
	return b
}

// run is a program that has come to where it waits.
type run struct {
	*box
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Scanner
	out    []string // the lines before it waited
	said   *strings.Builder
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
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	b.Cleanup(cancel)
	r := &run{box: b, cmd: exec.CommandContext(ctx, command[0], command[1:]...), said: &strings.Builder{}}
	r.cmd.Env = environ
	r.cmd.Stderr = r.said
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

// again has the program print the driver's books once more.
func (r *run) again() []books {
	r.Helper()
	if _, err := io.WriteString(r.in, "b"); err != nil {
		r.Fatal(err)
	}
	r.untilReady()
	return r.books()
}

// untilReady reads what it prints before it waits.
func (r *run) untilReady() {
	r.Helper()
	for r.out = nil; r.lines.Scan(); r.out = append(r.out, r.lines.Text()) {
		if r.lines.Text() == "ready" {
			return
		}
	}
	_ = r.cmd.Wait() // the reason is on its stderr
	r.exited = true
	r.Fatalf("%q ended before it was ready: %v\n%s\n%s", r.cmd.Args, r.cmd.ProcessState, strings.Join(r.out, "\n"), r.said)
}

// end lets it end, and checks that it does as it would by itself.
func (r *run) end() {
	r.Helper()
	if code, said := r.wait(); code != 7 || said != "" {
		r.Errorf("it ended with %d, said %q", code, said)
	}
}

// wait lets it end, and tells its code and what it said on stderr.
func (r *run) wait() (code int, said string) {
	_ = r.in.Close()
	_ = r.cmd.Wait() // the code tells
	r.exited = true
	return r.cmd.ProcessState.ExitCode(), r.said.String()
}

// await waits for something.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// socket is where a program serves, once it listens.
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
			_ = conn.Close() // it was only to see whether there is somebody
			path = found[0]
		}
		return err == nil
	})
	return path
}

// ask asks once and decodes the answer.
func (r *run) ask(question string, into any) {
	r.Helper()
	conn, err := net.Dial("unix", r.socket())
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // all has been read
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		r.Fatal(err)
	}
	if _, err := io.WriteString(conn, question+"\n"); err != nil {
		r.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		r.Fatalf("%s: %v", question, err)
	}
	if err := json.Unmarshal(line, into); err != nil {
		r.Fatalf("%s: %v\n%s", question, err, line)
	}
}

// report is what the probe says now.
func (r *run) report() probe.Report {
	r.Helper()
	var report probe.Report
	r.ask(`{"id":1,"cmd":"stats"}`, &report)
	return report
}

// books are the driver's own, of a device, as the program has printed them.
type books struct {
	device                                   int
	linear, linearCount                      int64
	physical, physicalCount                  int64
	managed, managedCount, importedCount     int64
	poolsUsed, poolsReserved, graphsReserved int64
}

func (r *run) books() []books {
	r.Helper()
	var all []books
	for _, line := range r.out {
		if !strings.HasPrefix(line, "books ") {
			continue
		}
		var b books
		if _, err := fmt.Sscanf(line, "books %d %d %d %d %d %d %d %d %d %d %d", &b.device, &b.linear, &b.linearCount, &b.physical,
			&b.physicalCount, &b.managed, &b.managedCount, &b.importedCount, &b.poolsUsed, &b.poolsReserved,
			&b.graphsReserved); err != nil {
			r.Fatalf("%s: %v", line, err)
		}
		all = append(all, b)
	}
	if len(all) != 4 {
		r.Fatalf("books of %d devices, want 4: %q", len(all), r.out)
	}
	return all
}
