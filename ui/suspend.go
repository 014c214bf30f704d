package ui

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// suspension is Ctrl+Z: the terminal is handed back as it was found, the driver
// is let go, and the process group stops until the shell continues it.
//
// Bubble Tea runs it with its own hold on the terminal released. Its built-in
// suspension waits for SIGCONT without end, but where no shell could continue
// the program (it leads its session, as under `docker run` or `tmux new`) the
// kernel ignores the stop, and the program would hang.
type suspension struct {
	terminal *terminal
	sampling Sampling // may be nil
	stop     func() error
}

// errNotStopped: the kernel did not stop the process.
var errNotStopped = errors.New("nothing to go back to: no shell started this")

// stopPatience is how long a stop may take to arrive. A process that has been
// stopped does not count the time, so this passes only in one that has not.
const stopPatience = 200 * time.Millisecond

// releasePatience is how long Ctrl+Z waits for the driver, whose calls can hang.
const releasePatience = 300 * time.Millisecond

// Run implements tea.ExecCommand.
func (s *suspension) Run() error {
	s.terminal.leave(false)
	s.terminal.output.Flush(flushPatience)
	s.terminal.cooked()
	if s.sampling != nil {
		released := make(chan struct{})
		go func() {
			defer close(released)
			s.sampling.Suspend()
		}()
		select {
		case <-released:
		case <-time.After(releasePatience):
		}
	}

	err := s.stop()

	if s.sampling != nil {
		go s.sampling.Resume() // opening the driver takes its time; the screen does not wait
	}
	if rawErr := s.terminal.raw(); rawErr != nil {
		return rawErr
	}
	if s.terminal.titled() {
		_, _ = s.terminal.output.Write([]byte(saveTitle)) // an output that failed reports it itself
	}
	return err
}

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand: nothing is run
// that needs them.
func (s *suspension) SetStdin(io.Reader)  {}
func (s *suspension) SetStdout(io.Writer) {}
func (s *suspension) SetStderr(io.Writer) {}

// stopGroup stops the whole process group, as the terminal driver does for
// Ctrl+Z, so that a wrapper script stops with the program. It returns when the
// program has been continued.
func stopGroup() error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	select {
	case <-continued:
		return nil
	case <-time.After(stopPatience):
		return errNotStopped
	}
}
