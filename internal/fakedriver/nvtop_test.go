//go:build linux

package fakedriver_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vramscope/internal/needs"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"vramscope/internal/fakedriver"
)

// screen is a program's terminal.
type screen struct {
	t        *testing.T
	mutex    sync.Mutex // x/vt's SafeEmulator does not guard String
	terminal *vt.Emulator
}

// Write draws what the program has sent.
func (s *screen) Write(sent []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.terminal.Write(sent)
}

func (s *screen) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.terminal.String()
}

// startOnTerminal runs a program on the box under a pseudo-terminal until the test ends.
func startOnTerminal(t *testing.T, width, height int, cmd *exec.Cmd) *screen {
	t.Helper()
	s := &screen{t: t, terminal: vt.NewEmulator(width, height)}
	line, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)})
	if err != nil {
		t.Fatal(err)
	}
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		_, _ = io.Copy(s, line) // ends with an error when the program ends
	}()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = io.Copy(line, s.terminal) // the terminal's answers to the program; ends when its pipe is closed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // its error says that the program was killed
		<-drawn
		_ = line.Close()
		_ = s.terminal.InputPipe().(io.Closer).Close()
		<-answered
	})
	return s
}

// wait waits until all of the texts are on the screen, each in one line.
func (s *screen) wait(texts ...string) {
	s.t.Helper()
	s.until(func(shown string) string {
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return fmt.Sprintf("no %q", text)
			}
		}
		return ""
	})
}

func (s *screen) waitWithout(text string) {
	s.t.Helper()
	s.until(func(shown string) string {
		if strings.Contains(shown, text) {
			return fmt.Sprintf("still %q", text)
		}
		return ""
	})
}

// until waits until wrong returns "" for the screen.
func (s *screen) until(wrong func(shown string) string) {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		shown := s.String()
		what := wrong(shown)
		if what == "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s on the screen:\n%s", what, shown)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestNvtopShowsTheBox(t *testing.T) {
	t.Parallel()
	nvtop := needs.Tool(t, "nvtop")
	library := fakedriver.Build(t, fakedriver.Current)
	box := fakedriver.Box(8, 1)
	second := fakedriver.NewProcess(0, 3<<30)
	second.Command = []string{"ipykernel_launcher", "-f", "kernel.json"}
	box.GPUs[3].Start(second)
	// nvtop leaves out processes that are not in /proc.
	population, err := fakedriver.Populate(&box)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(population.Close)
	path := filepath.Join(t.TempDir(), "state")
	box.MustWrite(t, path)

	cmd := exec.Command(nvtop, "--no-color", "--delay", "2", "--config-file", filepath.Join(t.TempDir(), "nvtop.ini"))
	cmd.Env = append(os.Environ(), fakedriver.Environment(library, path)...)
	cmd.Env = append(cmd.Env, "TERM=xterm", "LC_ALL=C.UTF-8")
	s := startOnTerminal(t, 160, 60, cmd)

	var want []string
	for i, gpu := range box.GPUs {
		want = append(want, fmt.Sprintf("Device %d", i), fmt.Sprintf("[%s]", gpu.Name), fmt.Sprintf("%d / 700 W", gpu.Power/1000))
		for _, p := range gpu.Processes {
			want = append(want, fmt.Sprintf(" %d ", p.PID), fmt.Sprintf("%dMiB", p.Used>>20))
		}
	}
	s.wait(append(want, "train.py --cfg llama-7b.yaml", "Compute  90%")...)

	gpu := &box.GPUs[3]
	ended, grown := gpu.Processes[1], gpu.Processes[0].PID
	gpu.End(ended.PID)
	gpu.Resize(grown, 77_777<<20)
	gpu.Power = 333_000
	box.MustWrite(t, path)
	s.wait("77777MiB", "333 / 700 W")
	s.waitWithout(fmt.Sprintf(" %d ", ended.PID))
}
