package terminal

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// Messages between a Program and its Model.
type (
	// DrainedMsg comes when the terminal takes output again; Lost says whether output was lost meanwhile.
	DrainedMsg struct{ Lost bool }
	// ResumedMsg comes at the end of a suspension, or instead of one.
	ResumedMsg struct{ Err error }
	// RedrawMsg makes the program draw the whole screen again.
	RedrawMsg struct{}
)

// Messages to the program itself: SIGTSTP, SIGCONT, and the end of the wait for answers.
type (
	suspendMsg   struct{}
	continuedMsg struct{}
	endMsg       struct{}
)

// Hold is what a Model gets from its Program.
type Hold struct {
	Traits  Traits
	Asked   time.Time      // when the terminal was asked; zero: no answer is expected
	Ending  bool           // only the answers are awaited
	End     func()         // ends the run
	Stalled func() bool    // the terminal does not take output
	Suspend func() tea.Cmd // Ctrl+Z

	width bool // the answer about the width of █ is awaited
}

// NewHold returns the Hold of a terminal that takes all output, without a Program.
func NewHold(t Traits) Hold {
	return Hold{Traits: t, End: func() {}, Stalled: func() bool { return false }, Suspend: func() tea.Cmd { return nil }}
}

// Quit ends the run. Before that it waits for expected answers of the terminal, which the shell must not get.
func (h *Hold) Quit(now time.Time) tea.Cmd {
	if !h.expects(now) {
		h.End()
		return nil
	}
	h.Ending = true
	return tea.Tick(quitTimeout, func(time.Time) tea.Msg { return endMsg{} })
}

const quitTimeout = 300 * time.Millisecond
