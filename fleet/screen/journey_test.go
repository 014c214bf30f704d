package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"vramscope/fleet"
	"vramscope/internal/needs"
	"vramscope/ui/terminal"
)

// TestMain runs the screen itself if a journey asks for it.
func TestMain(m *testing.M) {
	if play := os.Getenv("VRAMSCOPE_FLEET_PLAY"); play != "" {
		os.Exit(perform(play))
	}
	os.Exit(m.Run())
}

// steady is a source with 50 GPUs.
type steady struct {
	silent
	looks *atomic.Int64
}

func (s steady) Look(_ context.Context, q fleet.Query) (*fleet.Picture, error) {
	if s.looks.Add(1) > 3 && os.Getenv("VRAMSCOPE_FLEET_PLAY") == "source" {
		panic("made to panic")
	}
	return &fleet.Picture{Time: noon, Unit: fleet.GPUs, Lines: many(min(50, q.Lines))}, nil
}

// perform runs the screen or a child as play says, and returns the exit code.
func perform(play string) int {
	if play == "child" {
		signals := terminal.CatchSignals() // as an earlier screen does
		signals.Release()
		cmd := exec.Command("sh", "-c", "echo box-000 is shown; exec sleep 600")
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		if err := terminal.RunChild(cmd); err == nil {
			return 1
		}
		return 0
	}
	var calls atomic.Int64
	now := func() time.Time {
		if calls.Add(1) > 40 {
			switch play {
			case "panic":
				panic("made to panic")
			case "hang":
				select {}
			}
		}
		return time.Now()
	}
	var looks atomic.Int64
	const every = 50 * time.Millisecond
	poller := fleet.NewPoller(steady{looks: &looks}, every, time.Now)
	_, err := Run(context.Background(), Options{Poller: poller, Name: "a test", Input: os.Stdin, Output: os.Stdout, Environ: os.Environ(), Now: now})
	var crash *terminal.Crash
	if errors.As(err, &crash) {
		fmt.Fprintln(os.Stderr, err)
		return crash.ExitCode()
	}
	if err != nil {
		return 1
	}
	before := looks.Load()
	if time.Sleep(4 * every); looks.Load() > before {
		return 3 // the poller runs while the list is not shown
	}
	return 0
}

// journey is the screen on a pty, with an emulated terminal at its other end.
type journey struct {
	t             *testing.T
	cmd           *exec.Cmd
	master, slave *os.File
	before        *term.State
	done          chan struct{}
	stderr        strings.Builder

	mu     sync.Mutex // while it is held, the terminal reads nothing
	screen *vt.Emulator
}

func launch(t *testing.T, play string, cmd *exec.Cmd) *journey {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no pty to be had: %v", err)
	}
	j := &journey{t: t, cmd: cmd, master: master, slave: slave, done: make(chan struct{}), screen: vt.NewEmulator(80, 24)}
	j.size(80, 24)
	if j.before, err = term.GetState(slave.Fd()); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "VRAMSCOPE_FLEET_PLAY="+play, "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=", "GORACE=atexit_sleep_ms=0")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, &j.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait(); close(j.done) }()
	go func() {
		for buf := make([]byte, 4096); ; {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			j.mu.Lock()
			_, _ = j.screen.Write(buf[:n])
			j.mu.Unlock()
		}
	}()
	go func() { _, _ = io.Copy(master, j.screen) }() // the emulator's answers to queries
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-j.done
		_, _ = slave.Close(), master.Close()
	})
	j.until("the fleet", func() bool { return strings.Contains(j.text(), "box-000") })
	return j
}

func (j *journey) size(width, height uint16) {
	if err := pty.Setsize(j.master, &pty.Winsize{Cols: width, Rows: height}); err != nil {
		j.t.Fatal(err)
	}
}

func (j *journey) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.screen.String()
}

func (j *journey) press(keys string) { _, _ = io.WriteString(j.master, keys) }

// until waits for a long time, because a loaded machine is no failure.
func (j *journey) until(what string, is func() bool) {
	j.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			j.t.Fatalf("never: %s; the screen is\n%s", what, j.text())
		}
	}
}

func (j *journey) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// foreground returns the process group that gets the keys. A shell's group is its PID.
func (j *journey) foreground() int {
	group, err := unix.IoctlGetInt(int(j.master.Fd()), unix.TIOCGPGRP)
	if err != nil {
		j.t.Fatal(err)
	}
	return group
}

func (j *journey) cooked() bool {
	now, err := term.GetState(j.slave.Fd())
	return err == nil && *now == *j.before
}

// TestEveryEndRestoresTheTerminal: each way to end or stop the screen restores the terminal.
func TestEveryEndRestoresTheTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		play string
		code int
		do   func(*journey)
	}{
		"q":       {"calm", 0, func(j *journey) { j.press("q") }},
		"SIGTERM": {"calm", 0, func(j *journey) { _ = j.cmd.Process.Signal(syscall.SIGTERM) }},
		"panic":   {"panic", 2, func(*journey) {}},
		"source":  {"source", 2, func(*journey) {}},
		"hang":    {"hang", 0, func(j *journey) { time.Sleep(time.Second); j.press("\x03") }},
		"resizes": {"calm", 0, func(j *journey) {
			for i := range 200 {
				j.size(uint16(1+i*7%150), uint16(1+i*5%60))
			}
			j.mu.Lock()
			j.screen.Resize(120, 30)
			j.mu.Unlock()
			j.size(120, 30)
			j.until("the last size", func() bool { return strings.Contains(j.text(), "Tab users") })
			j.press("q")
		}},
		"stalled": {"calm", 0, func(j *journey) {
			j.mu.Lock() // the terminal stops reading
			for range 2000 {
				j.press("?j")
			}
			time.Sleep(300 * time.Millisecond) // until the buffer of the pty is full
			_ = j.cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-j.done:
			case <-time.After(time.Minute):
				t.Error("it waits for its terminal")
			}
			j.mu.Unlock()
		}},
		"suspended": {"shell", 0, func(j *journey) {
			j.press("\x1a")
			j.until("it stops", func() bool { return j.cooked() && !strings.Contains(j.text(), "box-000") })
			j.press("\n") // makes the shell continue the screen
			j.until("it is back", func() bool { return strings.Contains(j.text(), "box-000") })
			j.press("q")
		}},
		"child": {"child", 0, func(j *journey) {
			j.press("\x1a")
			j.until("the shell has the terminal", func() bool { return strings.Contains(j.text(), "stopped") })
			j.press("\n")
			j.until("the screen has it again", func() bool { return j.foreground() != j.cmd.Process.Pid })
			j.press("\x03")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			if c.play == "shell" || c.play == "child" { // a job of a shell that reads a line when the job stops
				cmd = exec.Command(needs.Tool(t, "sh"), "-mc", `"$0"; s=$?; while [ $s -gt 128 ]; do echo stopped; read x; fg >/dev/null; s=$?; done; exit $s`, os.Args[0])
			}
			j := launch(t, c.play, cmd)
			c.do(j)
			j.until("the end", j.ended)
			if code := cmd.ProcessState.ExitCode(); code != c.code || c.code == 2 && !strings.Contains(j.stderr.String(), "made to panic") {
				t.Errorf("%v: %s; the screen is\n%s", cmd.ProcessState, j.stderr.String(), j.text())
			}
			j.until("the former modes", func() bool { return j.cooked() && (c.play == "child" || !strings.Contains(j.text(), "box-000")) })
		})
	}
}

// TestAClosedTerminalEndsIt: the screen ends when its terminal is closed.
func TestAClosedTerminalEndsIt(t *testing.T) {
	j := launch(t, "calm", exec.Command(os.Args[0]))
	_ = j.master.Close()
	_ = j.slave.Close()
	j.until("the end", j.ended)
}
