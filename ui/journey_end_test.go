package ui

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"go.uber.org/goleak"
)

// TestEveryEndRestoresTheTerminal: the program also ends soon.
func TestEveryEndRestoresTheTerminal(t *testing.T) {
	for name, end := range map[string]func(*monitor){
		"q":       func(m *monitor) { m.press("q") },
		"F10":     func(m *monitor) { m.press("\x1b[21~") },
		"Ctrl-C":  func(m *monitor) { m.press("\x03") },
		"SIGTERM": func(m *monitor) { m.signal(syscall.SIGTERM) },
		"SIGINT":  func(m *monitor) { m.signal(syscall.SIGINT) },
		"SIGHUP":  func(m *monitor) { m.signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := launch(t, "quiet", 80, 24)
			m.untilText("quit")
			if !eventually(func() bool { return m.rawContains(ansi.SetModeBracketedPaste) }) {
				t.Fatal("the renderer never drew")
			}
			end(m)
			m.ends(0, soon)
			m.restored()
		})
	}
}

func TestQuitAtOnceRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	m := launch(t, "quiet", 80, 24)
	m.press("q")
	m.ends(0, soon)
	m.restored()
}

func TestClosedLineLeavesNoOrphan(t *testing.T) {
	t.Parallel()
	m := launch(t, "quiet", 80, 24)
	m.untilText("quit")
	pid := m.cmd.Process.Pid
	_ = m.slave.Close() // the program has a descriptor of its own
	_ = m.master.Close()
	m.ends(0, soon)
	if running(pid) {
		t.Errorf("process %d runs on without a terminal", pid)
	}
}

// A program whose terminal is not its controlling terminal gets no signal at the end of the terminal.
func TestClosedLineWithoutASignal(t *testing.T) {
	t.Parallel()
	m := launch(t, "deaf", 80, 24)
	m.untilText("quit")
	_ = m.slave.Close()
	_ = m.master.Close()
	m.ends(0, soon)
}

func TestUnreadTerminalEnds(t *testing.T) {
	for name, end := range map[string]func(*monitor){
		"SIGTERM": func(m *monitor) { m.signal(syscall.SIGTERM) },
		"q":       func(m *monitor) { m.press("q") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := launch(t, "quiet", 200, 60)
			m.untilText("quit")
			resume := m.pause()
			// Fill the line: each redraw is a whole screen.
			for range 60 {
				m.press("\x0c")
				time.Sleep(20 * time.Millisecond)
			}
			end(m)
			m.ends(0, soon)
			resume()
			m.restored()
		})
	}
}

// A terminal that was not read for a while shows the whole screen when it is read again. The output that waited
// is limited.
func TestUnreadTerminalIsRedrawn(t *testing.T) {
	t.Parallel()
	m := launch(t, "quiet", 120, 40)
	m.untilText("quit")
	resume := m.pause()
	for range 100 {
		m.press("\x0c")
		time.Sleep(5 * time.Millisecond)
	}
	before := m.written()
	resume()
	m.press("?")
	m.untilText("keys and signs")
	if piled := m.written() - before; piled > 1<<20+200_000 {
		t.Errorf("%d bytes piled up", piled)
	}
	m.press("\x03")
	m.ends(0, soon)
	m.restored()
}

func TestPanicRestoresTheTerminal(t *testing.T) {
	for _, play := range []string{"panic in the first frame", "panic in update", "panic in a command", "panic in a goroutine"} {
		t.Run(play, func(t *testing.T) {
			t.Parallel()
			m := launch(t, play, 80, 24)
			if play == "panic in a command" {
				m.untilText("quit")
				m.press("je")
			}
			m.ends(2, journeyTimeout)
			m.restored()
			for _, want := range []string{"made to panic", "goroutine", "play_test.go"} {
				if !strings.Contains(m.errors(), want) {
					t.Errorf("stderr does not say %q:\n%s", want, m.errors())
				}
			}
		})
	}
}

// If the sampler fails, the error is printed after the screen has closed.
func TestFailureIsReported(t *testing.T) {
	t.Parallel()
	m := launch(t, "failure", 80, 24)
	m.ends(1, journeyTimeout)
	m.restored()
	if !strings.Contains(m.errors(), "sampler: it broke") {
		t.Errorf("stderr says %q", m.errors())
	}
}

// An update that hangs cannot keep the program alive.
func TestHangingProgramExits(t *testing.T) {
	for name, end := range map[string]func(*monitor){
		"SIGTERM": func(m *monitor) { m.signal(syscall.SIGTERM) },
		"Ctrl-C":  func(m *monitor) { m.press("\x03") },
		"Ctrl-C after other keys": func(m *monitor) {
			for range 3 {
				m.press("q")
				time.Sleep(100 * time.Millisecond) // they are read one by one
			}
			m.press("\x03")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := launch(t, "hang", 80, 24)
			m.untilText("quit")
			m.until("a frame that stands still", func(string) bool {
				before := m.written()
				time.Sleep(1500 * time.Millisecond)
				return m.written() == before
			})
			end(m)
			m.ends(0, soon)
			m.restored()
		})
	}
}

// TestRunLeavesNothingBehind: when Run returns, no goroutine of it is left.
func TestRunLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreTopFunction("os/signal.signal_recv"))
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no pty to be had: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	drawn := make(chan struct{})
	go func() {
		buf := make([]byte, 4096)
		seen := ""
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			if seen += string(buf[:n]); strings.Contains(seen, ansi.SetModeBracketedPaste) {
				close(drawn)
				break
			}
		}
		_, _ = io.Copy(io.Discard, master) // until it is closed
	}()
	ended := make(chan error, 1)
	source := newFakeSource(smallBox(4, 3, 0))
	go func() {
		ended <- Run(ctx, Options{
			Source: source, Sampling: source, Input: slave, Output: slave,
			Environ: []string{"TERM=xterm-256color", "LANG=C.UTF-8"},
		}.withDefaults())
	}()
	select {
	case <-drawn:
	case <-time.After(journeyTimeout):
		t.Error("it never drew")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("a cancelled run returns %v", err)
	}
	if err := errors.Join(slave.Close(), master.Close()); err != nil {
		t.Error(err)
	}
}

func TestNoTerminalIsRefused(t *testing.T) {
	out, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }() // only opened to be refused
	err = Run(t.Context(), Options{Source: newFakeSource(nil), Output: out, Input: out, Environ: []string{"TERM=xterm"}})
	if err == nil || !strings.Contains(err.Error(), "standard output is not a terminal") {
		t.Errorf("got %v", err)
	}
}

// TestForgedSizeIsIgnored: text that looks like a terminal's report of another size, pasted or
// garbled, does not shrink the screen; a real resize still works.
func TestForgedSizeIsIgnored(t *testing.T) {
	t.Parallel()
	m := launch(t, "moving", 80, 24)
	m.untilText("train.py")
	m.press("\x1b[8;5;5t")         // as XTWINOPS 18 is answered
	m.press("\x1b[48;2;20;40;40t") // as mode 2048 reports
	m.press("?")
	m.untilText("keys and signs")
	m.untilText("Esc closes ┐")
	m.resize(100, 30)
	m.press("q")
	m.untilText(" GPU by owner")
	m.press("q")
	m.ends(0, soon)
	m.restored()
}
