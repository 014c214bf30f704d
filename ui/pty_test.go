package ui

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/needs"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Journeys run the program as a process of its own on a real pty, with an emulated screen at the other end.
//
//	test ── keys, resizes, signals ──→ pty ──→ this test binary, re-executed as the program
//	  └── screen (x/vt), modes, raw bytes ←── pty ←──┘

// monitor is the program on its pty.
type monitor struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	slave  *os.File // held open, so that modes can be read after the end
	before *term.State
	done   chan struct{} // closed when the process has ended
	stderr *bytes.Buffer

	mu     sync.Mutex
	screen *vt.Emulator
	raw    bytes.Buffer
	modes  map[ansi.Mode]bool
	title  string
	titles int // depth of the title stack
	bells  int
	paused chan struct{} // not nil: nothing is read until paused is closed
}

// launch starts the program that play names, on a screen of that size.
func launch(t *testing.T, play string, width, height int, env ...string) *monitor {
	t.Helper()
	return start(t, exec.Command(os.Args[0]), play, width, height, env...)
}

// launchFromShell starts the program as a job of a shell. When the program stops, the shell reads a line and continues it.
func launchFromShell(t *testing.T, play string, width, height int) *monitor {
	t.Helper()
	needs.Tool(t, "sh")
	const script = `"$0"; s=$?; while [ $s -gt 128 ]; do read x; fg >/dev/null; s=$?; done; exit $s`
	return start(t, exec.Command("sh", "-mc", script, os.Args[0]), play, width, height)
}

func start(t *testing.T, cmd *exec.Cmd, play string, width, height int, env ...string) *monitor {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no pty to be had: %v", err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		t.Fatal(err)
	}
	m := &monitor{
		t: t, master: master, slave: slave, done: make(chan struct{}), stderr: new(bytes.Buffer),
		screen: vt.NewEmulator(width, height), modes: make(map[ansi.Mode]bool),
	}
	if m.before, err = term.GetState(slave.Fd()); err != nil {
		t.Fatal(err)
	}
	m.screen.SetCallbacks(vt.Callbacks{
		Bell:        func() { m.bells++ },
		Title:       func(title string) { m.title = title },
		EnableMode:  func(mode ansi.Mode) { m.modes[mode] = true },
		DisableMode: func(mode ansi.Mode) { m.modes[mode] = false },
	})
	m.screen.RegisterCsiHandler('t', func(params ansi.Params) bool {
		switch n, _, _ := params.Param(0, 0); n {
		case 22:
			m.titles++
		case 23:
			m.titles--
		}
		return true
	})

	// After the window has shrunk, the program may still set margins below the last line: the emulator would panic.
	m.screen.RegisterCsiHandler('r', func(params ansi.Params) bool {
		bottom, _, _ := params.Param(1, 0)
		return bottom > m.screen.Height()
	})
	if slices.Contains(env, "TERM=xterm-wide") {
		// A terminal that draws ambiguous glyphs two cells wide: after █ the cursor is one cell further.
		m.screen.RegisterCsiHandler('n', func(ansi.Params) bool {
			at := m.screen.CursorPosition()
			_, _ = io.WriteString(m.screen.InputPipe(), ansi.CursorPositionReport(at.Y+1, at.X+2))
			return true
		})
	}
	if slices.Contains(env, "SSH_TTY=/dev/pts/9") {
		// A terminal that can synchronize its output; the emulator cannot.
		m.screen.RegisterCsiHandler(ansi.Command('?', '$', 'p'), func(params ansi.Params) bool {
			mode, _, _ := params.Param(0, 0)
			setting := ansi.ModeNotRecognized
			if ansi.DECMode(mode) == ansi.ModeSynchronizedOutput {
				setting = ansi.ModeReset
			}
			_, _ = io.WriteString(m.screen.InputPipe(), ansi.ReportMode(ansi.DECMode(mode), setting))
			return true
		})
	}
	m.cmd = cmd
	m.cmd.Env = append(os.Environ(), "VRAMSCOPE_UI_PLAY="+play, "TERM=xterm-256color", "LANG=C.UTF-8",
		"LC_ALL=", "NO_COLOR=", "SSH_TTY=", "TMUX=",
		"GORACE=atexit_sleep_ms=0") // the race detector would sleep for a second at the end
	m.cmd.Env = append(m.cmd.Env, env...)
	m.cmd.Stdin, m.cmd.Stdout = slave, slave
	m.cmd.Stderr = m.stderr
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: play != "deaf"}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go m.read()
	go m.answer()
	go func() {
		_ = m.cmd.Wait() // how it ended is in ProcessState
		close(m.done)
	}()
	t.Cleanup(m.cleanUp)
	return m
}

func (m *monitor) cleanUp() {
	select {
	case <-m.done:
	default:
		_ = m.cmd.Process.Kill() // it may have ended just now
		<-m.done
	}
	if pipe, ok := m.screen.InputPipe().(io.Closer); ok {
		_ = pipe.Close() // ends answer
	}
	_ = m.slave.Close()
	_ = m.master.Close()
}

// read draws the output on the emulated screen, and keeps the bytes.
func (m *monitor) read() {
	buf := make([]byte, 4096)
	for {
		m.mu.Lock()
		paused := m.paused
		m.mu.Unlock()
		if paused != nil {
			<-paused
		}
		n, err := m.master.Read(buf)
		if n > 0 {
			m.mu.Lock()
			m.raw.Write(buf[:n])
			_, _ = m.screen.Write(buf[:n]) // it fails only once closed
			m.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// answer passes the emulator's answers (cursor position, attributes) on.
func (m *monitor) answer() {
	_, _ = io.Copy(m.master, m.screen) // until either is closed
}

// pause stops reading the terminal; the returned function continues.
func (m *monitor) pause() (resume func()) {
	paused := make(chan struct{})
	m.mu.Lock()
	m.paused = paused
	m.mu.Unlock()
	return func() {
		m.mu.Lock()
		m.paused = nil
		m.mu.Unlock()
		close(paused)
	}
}

func (m *monitor) press(keys string) {
	m.t.Helper()
	if _, err := io.WriteString(m.master, keys); err != nil {
		m.t.Fatalf("typing %q: %v", keys, err)
	}
}

func (m *monitor) signal(sig syscall.Signal) {
	m.t.Helper()
	if err := m.cmd.Process.Signal(sig); err != nil {
		m.t.Fatal(err)
	}
}

func (m *monitor) resize(width, height int) {
	m.t.Helper()
	m.mu.Lock()
	_, _ = m.screen.Write([]byte(ansi.SetTopBottomMargins(0, 0))) // as real terminals do; Write fails only once closed
	m.screen.Resize(width, height)
	m.mu.Unlock()
	if err := pty.Setsize(m.master, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		m.t.Fatal(err)
	}
}

func (m *monitor) lines() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := make([]string, m.screen.Height())
	for y := range lines {
		var b strings.Builder
		for x := 0; x < m.screen.Width(); x++ {
			if c := m.screen.CellAt(x, y); c != nil && c.Content != "" {
				b.WriteString(c.Content)
			} else if c == nil || c.Width == 1 {
				b.WriteByte(' ')
			}
		}
		lines[y] = b.String()
	}
	return lines
}

func (m *monitor) text() string { return strings.Join(m.lines(), "\n") }

// until waits until shown accepts the screen.
func (m *monitor) until(what string, shown func(screen string) bool) {
	m.t.Helper()
	if !eventually(func() bool { return shown(m.text()) }) {
		m.t.Fatalf("%s never came; the screen is\n%s\nstderr: %s", what, m.text(), m.errors())
	}
}

func (m *monitor) untilText(text string) {
	m.t.Helper()
	m.until(fmt.Sprintf("%q", text), func(s string) bool { return strings.Contains(s, text) })
}

// foreground returns the process group that has the terminal: the program's.
func (m *monitor) foreground() int {
	m.t.Helper()
	conn, err := m.master.SyscallConn()
	if err != nil {
		m.t.Fatal(err)
	}
	group := 0
	if controlErr := conn.Control(func(fd uintptr) {
		group, err = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP)
	}); controlErr != nil || err != nil {
		m.t.Fatal(controlErr, err)
	}
	return group
}

func (m *monitor) untilStopped(pid int) {
	m.t.Helper()
	if !eventually(func() bool { return stateOf(pid) == "T" }) {
		m.t.Fatalf("it does not stop; the screen is\n%s", m.text())
	}
}

// errors returns what the program wrote to its standard error. It is complete only after the end.
func (m *monitor) errors() string {
	select {
	case <-m.done:
		return m.stderr.String()
	default:
		return "(still running)"
	}
}

// journeyTimeout is how long a journey waits for an expected screen: long, because a loaded machine is no failure.
const journeyTimeout = 60 * time.Second

func eventually(done func() bool) bool {
	for deadline := time.Now().Add(journeyTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return done()
}

// soon is how long an end may take on a loaded machine. On another it should take a second.
const soon = 30 * time.Second

// ends waits for the end and checks its status and how long it took.
func (m *monitor) ends(code int, within time.Duration) {
	m.t.Helper()
	start := time.Now()
	select {
	case <-m.done:
	case <-time.After(journeyTimeout):
		m.signal(syscall.SIGKILL)
		<-m.done
		m.t.Fatalf("it does not end; the screen is\n%s", m.text())
	}
	if took := time.Since(start); took > within {
		m.t.Errorf("ending took %v, want at most %v", took, within)
	}
	if got := m.cmd.ProcessState.ExitCode(); got != code {
		m.t.Errorf("it ended with %v, want %d; stderr: %s", m.cmd.ProcessState, code, m.errors())
	}
}

// restored checks that the terminal is as it was before the start.
func (m *monitor) restored() {
	m.t.Helper()
	after, err := term.GetState(m.slave.Fd())
	if err != nil {
		m.t.Fatal(err)
	}
	if *after != *m.before {
		m.t.Errorf("the terminal's modes are\n%+v, were\n%+v", after, m.before)
	}
	// The last output may still be on its way to the screen.
	modesLeft := func() (left []string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, mode := range []ansi.DECMode{
			ansi.ModeAltScreenSaveCursor, ansi.ModeMouseNormal, ansi.ModeMouseButtonEvent, ansi.ModeMouseAnyEvent,
			ansi.ModeMouseExtSgr, ansi.ModeFocusEvent, ansi.ModeBracketedPaste, ansi.ModeSynchronizedOutput,
		} {
			if m.modes[mode] {
				left = append(left, fmt.Sprint("mode ", mode.Mode()))
			}
		}
		if hidden, was := m.modes[ansi.ModeTextCursorEnable]; was && !hidden {
			left = append(left, "hidden cursor")
		}
		if m.titles != 0 {
			left = append(left, fmt.Sprintf("%d titles on the stack", m.titles))
		}
		if strings.Count(m.raw.String(), "\x1b[>1u") > strings.Count(m.raw.String(), "\x1b[<1u")+strings.Count(m.raw.String(), "\x1b[<u") {
			left = append(left, "the keyboard protocol")
		}
		return left
	}
	if !eventually(func() bool { return len(modesLeft()) == 0 }) {
		m.t.Errorf("left behind: %v", modesLeft())
	}
}

// rawContains reports whether the terminal has got a sequence.
func (m *monitor) rawContains(sequence string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Contains(m.raw.Bytes(), []byte(sequence))
}

// written returns how many bytes the terminal has got.
func (m *monitor) written() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.raw.Len()
}

// running reports whether a process exists and is no zombie.
func running(pid int) bool { return !strings.Contains("ZX", stateOf(pid)) }

// stateOf returns a process's state letter, see proc(5); "" if the process does not exist.
func stateOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}
