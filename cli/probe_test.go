//go:build linux && cgo

package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
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

	"vramscope/cli/command"
	"vramscope/internal/fakedriver"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
)

// probeBox is a box with fake GPUs on which the test runs vramscope.
type probeBox struct {
	testing.TB
	state   fakedriver.State
	path    string
	environ []string
	home    string // XDG_STATE_HOME
}

func newProbeBox(t testing.TB, gpus int) *probeBox {
	t.Helper()
	library := fakedriver.Build(t, fakedriver.Current)
	b := &probeBox{TB: t, state: fakedriver.Box(gpus, 0), path: filepath.Join(t.TempDir(), "state"), home: t.TempDir()}
	b.state.MustWrite(t, b.path)
	// A path short enough for a socket's address, for test code that does not shorten it.
	runtime, err := os.MkdirTemp("", "vramscope-run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtime) }) // left in the temporary directory otherwise
	b.environ = append(os.Environ(), asVramscope+"=1", "LC_ALL=C.UTF-8", "TERM=dumb",
		"XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+b.home, "XDG_RUNTIME_DIR="+runtime, "CUDA_VISIBLE_DEVICES=")
	b.environ = slices.DeleteFunc(b.environ, func(v string) bool { return v == "CUDA_VISIBLE_DEVICES=" })
	b.environ = append(b.environ, fakedriver.Environment(library, b.path)...)
	return b
}

func (b *probeBox) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = b.environ
	return cmd
}

// probing is a probe process that runs.
type probing struct {
	box    *probeBox
	cmd    *exec.Cmd
	first  string // line it printed
	socket string
	rest   <-chan string // what it printed until its end
	stderr *bytes.Buffer
}

// start starts a probe process and waits until it serves.
func (b *probeBox) start(args ...string) *probing {
	b.Helper()
	p := &probing{box: b, cmd: b.command(append([]string{"probe", "--size", "128MiB"}, args...)...), stderr: &bytes.Buffer{}}
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.cmd.Process.Kill() }) // if it has not ended by itself
	reader := bufio.NewReader(out)
	p.first, err = reader.ReadString('\n')
	if err != nil {
		b.Fatalf("the probe process ended at once: %v\n%s", err, p.stderr)
	}
	_, p.socket, _ = strings.Cut(p.first, "socket ")
	p.socket, _, _ = strings.Cut(p.socket, ";")
	rest := make(chan string, 1)
	p.rest = rest
	go func() {
		text, _ := io.ReadAll(reader) // ends with the process
		rest <- string(text)
	}()
	return p
}

// end sends a signal, waits for the end, and checks the exit code and that the driver lists nothing.
func (p *probing) end(signal syscall.Signal, code int) string {
	p.box.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.box.Fatal(err)
	}
	return p.ended(code)
}

func (p *probing) ended(code int) string {
	p.box.Helper()
	text := <-p.rest
	_ = p.cmd.Wait() // its code is checked next
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.box.Errorf("exit code %d, want %d\n%s%s", got, code, text, p.stderr)
	}
	if used, listed := p.box.used(p.cmd.Process.Pid); listed {
		p.box.Errorf("after its end the driver lists it with %d bytes", used)
	}
	return text
}

// open connects to its probe.
func (p *probing) open() *probe.Client {
	p.box.Helper()
	client, err := probe.NewFinder(process.NewTable("/proc")).Open(p.cmd.Process.Pid)
	if err != nil {
		p.box.Fatal(err)
	}
	p.box.Cleanup(func() { _ = client.Close() }) // nothing is outstanding
	return client
}

// used returns the memory that vramscope once reports for a process.
func (b *probeBox) used(pid int) (used quantity.Bytes, listed bool) {
	b.Helper()
	out, err := b.command("once", "--format", "json").Output()
	if err != nil {
		b.Fatalf("once: %v", err)
	}
	var snapshot struct {
		GPUs []struct {
			Processes []struct {
				PID  int             `json:"pid"`
				Used *quantity.Bytes `json:"used_bytes"`
			} `json:"processes"`
		} `json:"gpus"`
	}
	if err := json.Unmarshal(out, &snapshot); err != nil {
		b.Fatal(err)
	}
	for _, gpu := range snapshot.GPUs {
		for _, process := range gpu.Processes {
			if process.PID == pid && process.Used != nil {
				return *process.Used, true
			}
		}
	}
	return 0, false
}

// reserved returns the memory that the allocators of a report reserve.
func reserved(t testing.TB, report probe.Report) (sum quantity.Bytes) {
	t.Helper()
	for _, device := range report.Devices {
		for _, allocator := range device.Allocators {
			sum += allocator.Reserved.Or(0)
		}
	}
	return sum
}

// stats asks a probe until it answers, which takes long on a busy machine.
func (p *probing) stats(client *probe.Client) probe.Report {
	p.box.Helper()
	var report probe.Report
	var err error
	if !eventually(func() bool {
		report, err = client.Stats(p.box.Context(), false)
		return err == nil
	}) {
		p.box.Fatalf("the probe does not answer: %v", err)
	}
	return report
}

// pool returns what the probe reports about the pool.
func (p *probing) pool(client *probe.Client) probe.Allocator {
	p.box.Helper()
	for _, a := range p.stats(client).Devices[0].Allocators {
		if a.Kind == "cuda_pool" {
			return a
		}
	}
	return probe.Allocator{}
}

// flushed reports whether the pool has been flushed: before a flush, its fragmentation is unknown.
func (p *probing) flushed() bool {
	p.box.Helper()
	return p.pool(p.open()).Fragmented.Known()
}

// still returns the driver's and the probe's figures at a moment when neither changes.
func (p *probing) still(client *probe.Client) (used quantity.Bytes, report probe.Report) {
	p.box.Helper()
	if !eventually(func() bool {
		before := reserved(p.box, p.stats(client))
		used, _ = p.box.used(p.cmd.Process.Pid)
		report = p.stats(client)
		return reserved(p.box, report) == before
	}) {
		p.box.Fatal("its memory never holds still")
	}
	return used, report
}

// TestProbeProcess checks the whole loop between processes: the driver's figure for a probe process
// is what its probe reports plus a context, and it falls by what a flush says that it freed.
func TestProbeProcess(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 2)
	context := quantity.Bytes(b.state.GPUs[1].Context)
	p := b.start("--pattern", "steady", "--gpu", "1", "--size", "1GiB")
	if want := "probe " + strconv.Itoa(p.cmd.Process.Pid) + " on GPU 1 (NVIDIA H100 80GB HBM3): steady up to 1.00G, socket "; !strings.HasPrefix(p.first, want) {
		t.Errorf("it says %q, want %q", p.first, want)
	}
	client := p.open()
	var hello probe.Hello
	var err error
	eventually(func() bool {
		hello, err = client.Hello(t.Context())
		return !errors.Is(err, probe.ErrLate)
	})
	if err != nil || len(hello.Runtimes) != 1 || hello.Runtimes[0].Name != "CUDA" || hello.Runtimes[0].Version != "12.4" || !slices.Contains(hello.Capabilities, "flush") {
		t.Errorf("hello: %+v, %v", hello, err)
	}
	var pool probe.Allocator
	if !eventually(func() bool {
		pool = p.pool(client)
		return pool.Cached.Known() && pool.Reserved.Or(0) == quantity.GiB && pool.Cached.Or(0) > 32*quantity.MiB
	}) {
		t.Fatalf("its pool never reserves 1 GiB and caches some of it: %+v", pool)
	}
	used, report := p.still(client)
	if used != reserved(t, report)+context || report.Devices[0].UUID != b.state.GPUs[1].UUID {
		t.Errorf("the driver says %d, the probe %d on %s, a context costs %d", used, reserved(t, report), report.Devices[0].UUID, context)
	}
	result, err := client.Flush(t.Context(), probe.FlushRequest{Level: probe.Urgent})
	if err != nil || result.Devices[0].FreedBytes <= 0 {
		t.Fatalf("flush: %+v, %v", result, err)
	}
	after, report := p.still(client)
	if after != reserved(t, report)+context {
		t.Errorf("after the flush the driver says %d, the probe %d", after, reserved(t, report))
	}
	if used-after != result.Devices[0].FreedBytes && reserved(t, report) == result.Devices[0].AfterBytes {
		t.Errorf("the flush says it freed %d, the driver's figure fell by %d", result.Devices[0].FreedBytes, used-after)
	}
	text := p.end(syscall.SIGINT, command.ExitOK)
	if !strings.HasSuffix(text, "; all freed\n") {
		t.Errorf("it wrote\n%s", text)
	}
}

// TestProbeEndsCleanlyOnEverySignal: on each of eleven signals the probe exits with code 0, says that all
// is freed, and leaves no socket.
func TestProbeEndsCleanlyOnEverySignal(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	for _, signal := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGABRT, syscall.SIGUSR1,
		syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGXCPU, syscall.SIGIO,
	} {
		p := b.start()
		if _, err := os.Stat(p.socket); err != nil {
			t.Fatal(err)
		}
		if text := p.end(signal, command.ExitOK); !strings.HasSuffix(text, "; all freed\n") {
			t.Errorf("%v: it wrote %q", signal, text)
		}
		if _, err := os.Stat(p.socket); err == nil {
			t.Errorf("%v: its socket is left", signal)
		}
	}
}

func TestProbeWhoseSocketIsGoneEndsCleanly(t *testing.T) {
	t.Parallel()
	p := newProbeBox(t, 1).start()
	if err := os.RemoveAll(filepath.Dir(p.socket)); err != nil {
		t.Fatal(err)
	}
	p.end(syscall.SIGINT, command.ExitOK)
}

// TestProbeThatCannotBePreloaded: the probe does not restart itself for ever.
func TestProbeThatCannotBePreloaded(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make a program setuid to another user")
	}
	content, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	const other = 65534
	directory, err := os.MkdirTemp("", "vramscope-setuid-")
	path := filepath.Join(directory, "program")
	if err = errors.Join(err, os.Chown(directory, other, other), writeProgram(path, content), os.Chown(path, other, other), os.Chmod(path, os.ModeSetuid|0o755)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(directory) }() // left in the temporary directory otherwise
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "probe")
	cmd.Env = []string{asVramscope + "=1", "XDG_CACHE_HOME=" + directory, "LD_LIBRARY_PATH=" + directory}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "the loader preloads no probe") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestProbeOutlivesItsMonitors: if a monitor leaves in the middle of an answer, the kernel sends the probe SIGPIPE.
func TestProbeOutlivesItsMonitors(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	p := b.start()
	for range 3 {
		conn, err := net.Dial("unix", p.socket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, strings.Repeat("{\"id\":1,\"cmd\":\"stats\"}\n", 8)); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close() // without reading
	}
	if err := p.cmd.Process.Signal(syscall.SIGPIPE); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // long enough to see whether it ended
	p.stats(p.open())
	p.end(syscall.SIGTERM, command.ExitOK)
}

// TestProbeOnAMIGInstance: the probe reports the instance's UUID.
func TestProbeOnAMIGInstance(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	b.state = fakedriver.MIG()
	b.state.MustWrite(t, b.path)
	p := b.start("--pattern", "steady", "--gpu", "0")
	instances := b.state.GPUs[0].Instances
	report := p.stats(p.open())
	if !slices.ContainsFunc(instances, func(i fakedriver.Instance) bool { return i.UUID == report.Devices[0].UUID }) {
		t.Errorf("it reports %s, the instances are %+v", report.Devices[0].UUID, instances)
	}
	if !strings.Contains(p.first, " on GPU 0 (") {
		t.Errorf("it says %q", p.first)
	}
	if used, listed := b.used(p.cmd.Process.Pid); !listed || used < 128*quantity.MiB/8 {
		t.Errorf("the driver lists it (%t) with %d bytes", listed, used)
	}
	p.end(syscall.SIGTERM, command.ExitOK)
}

// TestKilledProbeLeavesNothing on the GPU.
func TestKilledProbeLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	p := b.start()
	if used, _ := b.used(p.cmd.Process.Pid); used < quantity.Bytes(b.state.GPUs[0].Context) {
		t.Errorf("it uses %d bytes while it runs", used)
	}
	p.end(syscall.SIGKILL, -1)
}

// TestManyProbes: many probes start at once and are distinguished. Without --gpu each takes
// the emptiest GPU.
func TestManyProbes(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes, and no goroutines that other tests do not have")
	}
	t.Parallel()
	b := newProbeBox(t, 2)
	const many = 12
	probes := []*probing{b.start("--pattern", "steady"), b.start("--pattern", "steady")}
	if strings.Contains(probes[0].first, "on GPU 0") == strings.Contains(probes[1].first, "on GPU 0") {
		t.Errorf("both are on one GPU:\n%s%s", probes[0].first, probes[1].first)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	for i := range many - len(probes) {
		group.Go(func() {
			p := b.start("--pattern", "steady", "--seed", strconv.Itoa(i))
			mu.Lock()
			defer mu.Unlock()
			probes = append(probes, p)
		})
	}
	group.Wait()
	if len(probes) != many {
		t.Fatalf("%d of %d probes started", len(probes), many)
	}
	sockets := map[string]bool{}
	for _, p := range probes {
		sockets[p.socket] = true
		used, report := p.still(p.open())
		if used != reserved(t, report)+quantity.Bytes(b.state.GPUs[0].Context) {
			t.Errorf("the driver says %d of %d, its probe %d", used, p.cmd.Process.Pid, reserved(t, report))
		}
	}
	if len(sockets) != many {
		t.Errorf("%d probes have %d sockets", many, len(sockets))
	}
	for _, p := range probes {
		p.end(syscall.SIGTERM, command.ExitOK)
	}
}

// TestProbeOnAHangingDriver: the first signal asks the probe to clean up, the second ends the probe.
func TestProbeOnAHangingDriver(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	b.state.GPUs[0].Hang("cuStreamSynchronize", time.Hour) // of the pattern's first step
	b.state.MustWrite(t, b.path)
	p := b.start("--pattern", "steady")
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-time.After(100 * time.Millisecond):
				_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
			case <-ended:
				return
			}
		}
	}()
	p.ended(-1)
	close(ended)
}
