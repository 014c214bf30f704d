package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/text"
)

// waitingBox is a box with one GPU, and a headroom that waits on it.
type waitingBox struct {
	*testing.T
	state    fakedriver.State
	path     string
	cmd      *exec.Cmd
	out, err shared
}

// shared is a buffer that a program writes and a test reads.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// waitFor starts `headroom --need 30GiB --wait …` on a GPU whose only process uses 70 GiB.
func waitFor(t *testing.T, args ...string) *waitingBox {
	t.Helper()
	if !haveCgo() {
		t.Skip("built without cgo: no driver can be read")
	}
	library := fakedriver.Build(t, fakedriver.Current)
	b := &waitingBox{T: t, state: fakedriver.Box(1, 0), path: filepath.Join(t.TempDir(), "state")}
	b.state.GPUs[0].Start(fakedriver.NewProcess(uint64(os.Getpid()), 70<<30))
	b.write()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.cmd = exec.CommandContext(t.Context(), self, append([]string{"headroom", "--need", "30GiB", "--interval", "100ms"}, args...)...)
	b.cmd.Env = append(append(os.Environ(), asVramscope+"=1", "XDG_RUNTIME_DIR=", "LC_ALL=C.UTF-8", "XDG_CONFIG_HOME="+t.TempDir()), fakedriver.Environment(library, b.path)...)
	b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.err
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *waitingBox) write() {
	b.Helper()
	if err := b.state.Write(b.path); err != nil {
		b.Fatal(err)
	}
}

func (b *waitingBox) says(part string) {
	b.Helper()
	if !eventually(func() bool { return strings.Contains(b.err.String(), part) }) {
		b.Fatalf("no %q in %q", part, b.err.String())
	}
}

func (b *waitingBox) end() int {
	b.Helper()
	err := b.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		b.Fatal(err)
	}
	return 0
}

func TestHeadroomWaitsUntilItFits(t *testing.T) {
	b := waitFor(t, "--wait", "10m", "--format", "json")
	b.says("vramscope: waiting, 10m left: 30.0G fits nowhere; GPU 0 is ")
	if b.out.String() != "" {
		t.Errorf("an answer before it fits: %s", b.out.String())
	}
	b.state.GPUs[0].End(uint64(os.Getpid()))
	b.write()
	if code := b.end(); code != 0 {
		t.Fatalf("exit code %d: %s", code, b.err.String())
	}
	conforms(t, "headroom", "after a wait", []byte(b.out.String()))
	var doc struct {
		Headroom struct {
			Answer string
			Wait   float64 `json:"wait_seconds"`
			Waited float64 `json:"waited_seconds"`
		}
	}
	if err := json.Unmarshal([]byte(b.out.String()), &doc); err != nil || doc.Headroom.Answer != "yes" || doc.Headroom.Wait != 600 || doc.Headroom.Waited <= 0 || doc.Headroom.Waited > 300 {
		t.Errorf("%v: %+v", err, doc)
	}
	if n := strings.Count(b.err.String(), "\n"); n != 1 {
		t.Errorf("%d lines for one change: %q", n, b.err.String())
	}
}

func TestHeadroomWaitEndsInTime(t *testing.T) {
	b := waitFor(t, "--wait", "1s")
	if code := b.end(); code != 3 || !strings.HasPrefix(b.out.String(), "no: 30.0G fits nowhere\n") {
		t.Errorf("exit code %d: %s", code, b.out.String())
	}
}

// Ctrl+C ends headroom by SIGINT, so that a shell does not run the command after &&.
func TestHeadroomWaitIsInterrupted(t *testing.T) {
	b := waitFor(t, "--wait", "10m")
	b.says("waiting")
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	b.end()
	if status, ok := b.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT || b.out.String() != "" {
		t.Errorf("%v, %q", b.cmd.ProcessState, b.out.String())
	}
}

// A GPU that is lost during the wait can come back.
func TestHeadroomWaitsThroughADriverThatGoes(t *testing.T) {
	t.Parallel()
	b := waitFor(t, "--wait", "10m")
	b.says("waiting")
	b.state.GPUs[0].Lost = true
	b.write()
	time.Sleep(300 * time.Millisecond) // some samples; the output does not change
	b.state.GPUs[0].Lost = false
	b.state.GPUs[0].End(uint64(os.Getpid()))
	b.write()
	if code := b.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, b.err.String())
	}
}

// In a terminal one line is rewritten, and disappears at the end.
func TestHeadroomWaitOnATerminal(t *testing.T) {
	t.Parallel()
	out := onTerminal(t, 40, []string{"TERM=xterm-256color"}, "headroom", "--demo", "--need", "20G", "--wait", "1s")
	if strings.Contains(out, "waiting") || !strings.Contains(out, "yes: 20.0G fits") {
		t.Errorf("it fits at once: %q", out)
	}
	out, err := runOnTerminal(t, 40, []string{"TERM=xterm-256color"}, "headroom", "--demo", "--need", "70G", "--wait", "2s")
	if err == nil {
		t.Errorf("70G fits: %q", out)
	}
	line, rest, _ := strings.Cut(out, "\r\x1b[KSIMULATED")
	shown := strings.Split(line, "\r\x1b[K")
	if rest == "" || len(shown) < 2 {
		t.Fatalf("the line does not change, or is not removed: %q", out)
	}
	for _, s := range shown[1:] {
		if !strings.HasPrefix(s, "waiting, ") || strings.Contains(s, "\n") || text.Width(s) > 39 {
			t.Errorf("%q", s)
		}
	}
}
