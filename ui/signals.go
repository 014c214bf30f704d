package ui

import (
	"os"
	"os/signal"
	"syscall"
)

// signals are what a program with a terminal in raw mode must answer itself.
// A closed SSH session sends SIGHUP: it must leave no orphan behind. SIGTSTP
// from outside does what Ctrl+Z does; SIGCONT after a SIGSTOP, which nothing
// can catch, takes the terminal back.
type signals struct {
	ends, stops, continues chan os.Signal
}

// catchSignals is called before the terminal is changed: a signal that came in
// between would leave it as it is.
func catchSignals() *signals {
	s := &signals{
		ends:      make(chan os.Signal, 1),
		stops:     make(chan os.Signal, 1),
		continues: make(chan os.Signal, 1),
	}
	signal.Notify(s.ends, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	signal.Notify(s.stops, syscall.SIGTSTP)
	signal.Notify(s.continues, syscall.SIGCONT)
	return s
}

func (s *signals) release() {
	signal.Stop(s.ends)
	signal.Stop(s.stops)
	signal.Stop(s.continues)
}
