package terminal

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals are those that a program with a terminal in raw mode must answer itself. A closed SSH
// session sends SIGHUP, one of Ends. SIGTSTP from outside does what Ctrl+Z does; SIGCONT after a
// SIGSTOP, which cannot be caught, takes the terminal back. SIGWINCH reports a new size.
type Signals struct {
	Ends, Stops, Continues, Resizes chan os.Signal
}

// CatchSignals begins to catch the signals. It must be called before the terminal is changed, or a signal could leave it changed.
func CatchSignals() *Signals {
	caught := func(signals ...os.Signal) chan os.Signal {
		c := make(chan os.Signal, 1)
		signal.Notify(c, signals...)
		return c
	}
	return &Signals{caught(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT), caught(syscall.SIGTSTP), caught(syscall.SIGCONT), caught(syscall.SIGWINCH)}
}

// Release restores the signals' defaults, except SIGHUP's: that signal may come a moment after the
// end of the terminal, and must not kill a program that is saving its data.
func (s *Signals) Release() {
	signal.Reset(syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	signal.Stop(s.Stops)
	signal.Stop(s.Continues)
	signal.Stop(s.Resizes)
}
