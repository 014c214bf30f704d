package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"vramscope/internal/fakedriver"
)

// screen runs this test binary as vramscope, on a terminal with an emulated screen.
type screen struct {
	*testing.T
	cmd           *exec.Cmd
	master, slave *os.File
	before        *term.State

	mu  sync.Mutex
	vt  *vt.Emulator
	raw bytes.Buffer
}

func onScreen(t *testing.T, environ []string, program string, args ...string) *screen {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal to be had here: %v", err)
	}
	s := &screen{T: t, master: master, slave: slave, vt: vt.NewEmulator(120, 30)}
	if err := pty.Setsize(master, &pty.Winsize{Cols: 120, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	if s.before, err = term.GetState(slave.Fd()); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(program, args...)
	s.cmd.Env = append(append(os.Environ(), asVramscope+"=1", "XDG_RUNTIME_DIR=", "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=", "SSH_TTY=",
		"XDG_CONFIG_HOME="+t.TempDir()), environ...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			s.mu.Lock()
			s.raw.Write(buf[:n])
			_, _ = s.vt.Write(buf[:n]) // it fails only once closed
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { _, _ = io.Copy(master, s.vt) }() // what the terminal answers, until either is closed
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		_ = s.cmd.Wait()         // how it ended is not of interest any more
		if pipe, ok := s.vt.InputPipe().(io.Closer); ok {
			_ = pipe.Close() // ends the answers
		}
		_ = slave.Close()
		_ = master.Close()
	})
	return s
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vt.String()
}

// begun is the sequence with which a screen starts: it saves the terminal's title.
const begun = "\x1b[22;2t"

// sent counts how often the terminal has received a sequence.
func (s *screen) sent(sequence string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Count(s.raw.Bytes(), []byte(sequence))
}

func (s *screen) press(keys string) {
	s.Helper()
	if _, err := io.WriteString(s.master, keys); err != nil {
		s.Fatalf("typing %q: %v", keys, err)
	}
}

// until waits for the screen to show all of the texts.
func (s *screen) until(texts ...string) {
	s.Helper()
	missing, shown := "", ""
	if !eventually(func() bool {
		missing, shown = "", s.text()
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				missing = text
			}
		}
		return missing == ""
	}) {
		s.Fatalf("%q never came; the screen is\n%s", missing, shown)
	}
}

// ended waits for the end and checks that the terminal is as it was before.
func (s *screen) ended() {
	s.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			s.Errorf("it ended with %v; the screen is\n%s", err, s.text())
		}
	case <-time.After(waitLimit):
		s.Fatalf("it does not end; the screen is\n%s", s.text())
	}
	after, err := term.GetState(s.slave.Fd())
	if err != nil || *after != *s.before {
		s.Errorf("the terminal's modes are %+v, were %+v: %v", after, s.before, err)
	}
	// The last output can still be on its way to the screen.
	if !eventually(func() bool {
		s.mu.Lock()
		left := !s.vt.IsAltScreen()
		s.mu.Unlock()
		return left && s.sent(begun) == s.sent("\x1b[23;2t")
	}) {
		s.Error("the alternate screen or a title is left behind")
	}
}

// upgrade is a box on which a driver is upgraded.
type upgrade struct {
	*testing.T
	directory    string // of the library
	content      []byte
	before, then fakedriver.State
}

// newUpgrade makes a box before its upgrade. The library of the second release reads the state file
// "then", in which the driver is the new one from the start; that of the first release reads "before".
func newUpgrade(t *testing.T) *upgrade {
	t.Helper()
	if !haveCgo() {
		t.Skip("built without cgo: there is no driver to be upgraded")
	}
	u := &upgrade{T: t, directory: t.TempDir(), before: fakedriver.Box(2, 2), then: fakedriver.Box(2, 1)}
	content, err := os.ReadFile(fakedriver.Build(t, fakedriver.Current))
	if err != nil {
		t.Fatal(err)
	}
	u.content = content
	u.then.Driver.Version = "560.35.03"
	u.then.MustWrite(t, filepath.Join(u.directory, "then"))
	u.before.MustWrite(t, filepath.Join(u.directory, "before"))
	u.install("550.163.01", content)
	return u
}

func (u *upgrade) environ() []string {
	return []string{
		"VRAMSCOPE_FAKE_STATE=" + filepath.Join(u.directory, "before"),
		"VRAMSCOPE_FAKE_AFTER=" + filepath.Join(u.directory, "then"),
	}
}

func (u *upgrade) library() string { return filepath.Join(u.directory, "libnvidia-ml.so.1") }

// install writes a new library and replaces the link to it, as the driver's package does.
func (u *upgrade) install(release string, content []byte) {
	u.Helper()
	file, link := "libnvidia-ml.so."+release, u.library()
	err := os.WriteFile(filepath.Join(u.directory, file), content, 0o700)
	if err := errors.Join(err, os.Symlink(file, link+".new"), os.Rename(link+".new", link)); err != nil {
		u.Fatal(err)
	}
}

// happen upgrades the driver.
func (u *upgrade) happen() {
	u.Helper()
	u.install("560.35.03", bytes.ReplaceAll(u.content, []byte("VRAMSCOPE_FAKE_STATE"), []byte("VRAMSCOPE_FAKE_AFTER")))
	u.unload()
}

// unload removes the first release's driver: the new driver refuses its library.
func (u *upgrade) unload() {
	u.Helper()
	u.before.Driver.Init = fakedriver.VersionMismatch
	u.before.Reload()
	u.before.MustWrite(u, filepath.Join(u.directory, "before"))
}

// The driver is upgraded under a running monitor, which then shows the new driver, on the same
// terminal, in the same process.
func TestMonitorSurvivesADriverUpgrade(t *testing.T) {
	t.Parallel()
	u := newUpgrade(t)
	u.before.GPUs[1].Resize(u.before.GPUs[1].Processes[1].PID, 7<<30)
	u.before.MustWrite(t, filepath.Join(u.directory, "before"))
	s := onScreen(t, u.environ(), self(t), "--nvml-library", u.library(), "--interval", "200ms")
	second := strconv.FormatUint(u.before.GPUs[1].Processes[1].PID, 10)
	s.until("550.163.01", second, "7.00G")
	pid := s.cmd.Process.Pid
	u.happen()
	s.until("560.35.03", "58.9G")
	if n := s.sent(begun); n != 2 {
		t.Errorf("the screen was begun %d times", n)
	}
	if syscall.Kill(pid, 0) != nil {
		t.Error("it is not the same process")
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || !bytes.Contains(environ, []byte("VRAMSCOPE_RESTART=")) {
		t.Errorf("the program did not replace itself: %v", err)
	}

	s.press("E")
	s.until("the driver was upgraded; restarted to read it")
	s.press("q")
	s.press("q")
	s.ended()
}

// The new driver can be there before its library, and the program's own file can be gone.
func TestDriverUpgradeInSteps(t *testing.T) {
	t.Parallel()
	u := newUpgrade(t)
	program := filepath.Join(t.TempDir(), "vramscope")
	binary, err := os.ReadFile(self(t))
	if err := errors.Join(err, writeProgram(program, binary)); err != nil {
		t.Fatal(err)
	}
	s := onScreen(t, u.environ(), program, "--nvml-library", u.library(), "--interval", "100ms")
	s.until("550.163.01")
	u.unload()
	s.until("The NVIDIA driver went away at")
	if n := s.sent(begun); n != 1 {
		t.Errorf("it was begun %d times, with the library unchanged", n)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(u.library(), u.library()+".old"); err != nil {
		t.Fatal(err)
	}
	// It restarts, finds no library at all, and waits for one.
	s.until("LIBRARY_NOT_FOUND", "Next try in")
	u.happen()
	s.until("560.35.03")
	name, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/comm")
	if err != nil || string(name) != "vramscope\n" {
		t.Errorf("ps calls it %q: %v", name, err)
	}
	s.press("q")
	s.ended()
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
