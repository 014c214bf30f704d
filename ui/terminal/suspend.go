package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
)

// suspension is Ctrl+Z: the terminal is restored, the driver is closed, and the process group stops until the shell
// continues it. Bubble Tea runs Run after it has released the terminal.
//
// The suspension of Bubble Tea itself waits for SIGCONT without end. If no shell could continue the program (it leads its
// session, as under `docker run` or `tmux new`), the kernel ignores the stop, and the program would wait for ever.
type suspension struct{ *Program }

// Driver is the part of a sampler that is closed while the program is stopped. Its methods may block.
type Driver interface {
	Suspend()
	Resume()
}

// ErrNotStopped is returned if no shell could continue the program.
var ErrNotStopped = errors.New("no shell to go back to")

// prepare ends the read of the keyboard. Bubble Tea waits for the end of the read before it calls Run.
func (s suspension) prepare() error {
	if orphaned() {
		return ErrNotStopped
	}
	s.terminal.Input.pause()
	return nil
}

// releaseTimeout is how long Ctrl+Z waits for the driver, whose calls can hang.
const releaseTimeout = 300 * time.Millisecond

func (s suspension) Run() error {
	s.terminal.leave(false)
	s.terminal.Output.Flush(flushTimeout)
	s.terminal.cooked(false)
	if s.Driver != nil {
		released := make(chan struct{})
		go func() {
			defer close(released)
			s.Driver.Suspend()
		}()
		bounded.Ended(released, releaseTimeout)
	}

	err := stopGroup()

	if s.Driver != nil {
		go s.Driver.Resume() // opening the driver takes time; the screen does not wait
	}
	if rawErr := s.terminal.raw(); rawErr != nil {
		return rawErr
	}
	s.terminal.Input.resume()
	s.terminal.enterAgain()
	return err
}

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand: nothing is run that needs them.
func (s suspension) SetStdin(io.Reader)  {}
func (s suspension) SetStdout(io.Writer) {}
func (s suspension) SetStderr(io.Writer) {}

// stopGroup stops the whole process group, so that a wrapper script stops with the program, and returns when the group
// has been continued. It sends SIGSTOP, because SIGTSTP no longer stops a Go program that has once caught SIGTSTP: the
// runtime keeps its handler.
func stopGroup() error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stopping: %w", err)
	}
	// The stop reaches this thread a moment after the call has returned.
	bounded.Ended(continued, stopTimeout)
	return nil
}

// stopTimeout is how long a stop may take to arrive. The time for which the process is stopped counts too.
const stopTimeout = time.Second

// orphaned reports whether no shell waits for the program: neither the program nor an ancestor in its process group has a
// parent in another group of the same session. The kernel then ignores SIGTSTP (POSIX.1, "orphaned process group"). It
// would obey SIGSTOP, and nothing would continue the program.
func orphaned() bool {
	group, err := unix.Getpgid(0)
	if err != nil {
		return true
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return true
	}
	for parent := os.Getppid(); parent > 0; parent = parentOf(parent) {
		parentGroup, err := unix.Getpgid(parent)
		if err != nil {
			return true // the parent is outside of this pid namespace, or has exited
		}
		if parentGroup != group {
			parentSession, err := unix.Getsid(parent)
			return err != nil || parentSession != session
		}
	}
	return true
}

// parentOf returns the parent of a process, 0 where /proc does not show it.
func parentOf(pid int) int {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	stat, err := process.Stat()
	if err != nil {
		return 0
	}
	return stat.PPID
}
