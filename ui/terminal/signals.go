package terminal

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals has the signals that a program with a terminal in raw mode must answer itself. A closed SSH session sends
// SIGHUP, one of Ends. Stops is SIGTSTP from outside. Continues is SIGCONT, perhaps after a SIGSTOP, which no program can
// catch. Resizes is SIGWINCH.
type Signals struct {
	Ends, Stops, Continues, Resizes chan os.Signal
}

// CatchSignals begins to catch the signals. Call it before the terminal is changed, or a signal could leave it changed.
func CatchSignals() *Signals {
	caught := func(signals ...os.Signal) chan os.Signal {
		c := make(chan os.Signal, 1)
		signal.Notify(c, signals...)
		return c
	}
	return &Signals{caught(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT), caught(syscall.SIGTSTP), caught(syscall.SIGCONT), caught(syscall.SIGWINCH)}
}

// Release restores the default of the signals except SIGHUP, which may come a moment after the end of the terminal, when
// the program saves its data.
func (s *Signals) Release() {
	signal.Reset(syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	signal.Stop(s.Stops)
	signal.Stop(s.Continues)
	signal.Stop(s.Resizes)
}
