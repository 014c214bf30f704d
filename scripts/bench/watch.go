//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// measured is one program's figures in one run.
type measured struct {
	cpu                    float64 // share of one core
	rss, anonymous         int64   // bytes, at the end
	switches, syscalls     float64 // per second; syscalls is NaN if it cannot be counted
	bytesPerSecond         float64 // to the terminal
	firstFrame, wholeFrame time.Duration
	threads                int
}

// watch runs a program on the stage under a pseudo-terminal, and measures it in the same
// seconds as all others.
func (s *stage) watch(p program, o options, others *meeting) (m measured, err error) {
	met := sync.OnceFunc(others.meet)
	defer func() { go met() }() // a program that fails must not delay the others
	cmd := exec.Command(p.command[0], p.command[1:]...)
	cmd.Env = s.environment
	begin := time.Now()
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(s.columns), Rows: uint16(s.rows)})
	if err != nil {
		return m, err
	}
	defer func() { _ = terminal.Close() }()
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait() // the exit status of a killed program means nothing
	}()
	screen := newScreen(s.columns, s.rows, begin)
	go func(e *vt.Emulator) { _, _ = io.Copy(terminal, e) }(screen.emulator) // the terminal's answers to the program
	go screen.read(terminal)
	painting := min(o.warmUp, longestPainting)
	time.Sleep(painting)
	rest := o.warmUp - painting
	for !p.daemon && !screen.shown() {
		if screen.closed() || time.Since(begin) > longestStart {
			return m, fmt.Errorf("no GPU was shown within %s", time.Since(begin).Round(time.Second))
		}
		time.Sleep(painting / 10)
		rest = o.warmUp // a program that starts late has a whole warm-up; the others wait for it
	}
	m.firstFrame, m.wholeFrame = screen.painted()
	time.Sleep(rest)
	met()

	pid := cmd.Process.Pid
	cpu, bytes, switches, from := cpuTime(pid), screen.total(), switchesOf(pid), time.Now()
	time.Sleep(o.length)
	elapsed := time.Since(from)
	m.cpu = float64(cpuTime(pid)-cpu) / float64(elapsed)
	m.bytesPerSecond = float64(screen.total()-bytes) / elapsed.Seconds()
	m.switches = float64(switchesOf(pid)-switches) / elapsed.Seconds()
	m.rss, m.anonymous, m.threads = memoryOf(pid)
	if m.rss == 0 {
		return m, fmt.Errorf("it ended while it was watched")
	}
	m.syscalls = countSyscalls(pid, counting)
	return m, nil
}

const (
	// longestPainting is the longest time for which a program's output goes through an emulator.
	longestPainting = 10 * time.Second
	// longestStart is how long a program may take to show a GPU, on a busy machine.
	longestStart = 2 * time.Minute
	// counting is how long system calls are counted. That happens after the measurement,
	// because counting adds a tenth of a microsecond to each call.
	counting = 3 * time.Second
)

// screen is the other end of a program's terminal.
type screen struct {
	begin time.Time

	mu       sync.Mutex
	emulator *vt.Emulator // nil once nothing more is timed
	bytes    int
	ended    bool
	first    time.Duration // when a GPU's name was first on the screen
	filled   []filling
}

// filling is how many cells of the screen had text at a moment.
type filling struct {
	at    time.Duration
	cells int
}

// textIn counts letters and digits. It leaves out bars and graphs, which may grow as long
// as they are shown.
func textIn(screen string) int {
	n := 0
	for _, c := range screen {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			n++
		}
	}
	return n
}

func newScreen(columns, rows int, begin time.Time) *screen {
	return &screen{begin: begin, emulator: vt.NewEmulator(columns, rows)}
}

func (s *screen) read(terminal io.ReadWriter) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := terminal.Read(buffer)
		at := time.Since(s.begin)
		s.mu.Lock()
		s.bytes += n
		if s.emulator != nil && n > 0 {
			_, _ = s.emulator.Write(buffer[:n])
			text := s.emulator.String()
			if s.first == 0 && strings.Contains(text, "H100") {
				s.first = at
			}
			s.filled = append(s.filled, filling{at, textIn(text)})
		}
		answers := s.emulator == nil
		s.ended = err != nil
		s.mu.Unlock()
		if answers { // gpustat (blessed) asks each second where the cursor is, and waits
			_, _ = io.WriteString(terminal, strings.Repeat("\x1b[1;1R", bytes.Count(buffer[:n], []byte("\x1b[6n"))))
		}
		if err != nil {
			return
		}
	}
}

// shown reports whether a GPU has been on the screen.
func (s *screen) shown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first > 0
}

// closed reports whether no program has the terminal any more.
func (s *screen) closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// painted returns when a GPU was first on the screen, and when the screen was whole, that
// is, had 95 % of the letters and digits that it has now. Nothing is timed afterwards.
func (s *screen) painted() (first, whole time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emulator = nil
	if len(s.filled) == 0 {
		return s.first, 0
	}
	enough := s.filled[len(s.filled)-1].cells * 95 / 100
	for _, f := range s.filled {
		if f.cells >= enough && f.at >= s.first {
			return s.first, f.at
		}
	}
	return s.first, 0
}

func (s *screen) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
