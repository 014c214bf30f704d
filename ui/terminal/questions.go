package terminal

import (
	"time"

	tea "charm.land/bubbletea/v2"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// What a terminal is asked, once, before the first frame. Nothing waits for
// the answers: they come through the ordinary input, however slow the line,
// and change the screen when they are there.
//
//	question                        answer                        what for
//	OSC 11 ?                        background colour             dark or light theme
//	DECRQM 2026                     synchronized output           frames without tearing
//	█ at line 2, then DSR 6         cursor position               is an ambiguous glyph one cell wide?
//	DA1                             device attributes             every terminal answers it, and last

// widthProbeLine is where the glyph is measured: on line 1 the answer could be Shift-F3.
const widthProbeLine = 2

// questions are written before the first frame, which covers their traces.
func (t Traits) questions() string {
	if t.Console {
		return "" // ASCII, dark and unsynchronized are known already
	}
	ask := ansi.RequestBackgroundColor + ansi.RequestModeSynchronizedOutput
	if !t.ASCII {
		ask += ansi.CursorPosition(1, widthProbeLine) + "█" + ansi.RequestCursorPositionReport
	}
	return ask + ansi.RequestPrimaryDeviceAttributes
}

// Answers keeps track of what the terminal has yet to answer.
type Answers struct {
	asked time.Time // zero: nothing is expected (any more)
	width bool      // the width of █ is not known yet
}

// answerTimeout is how long the end of the program waits for answers.
const answerTimeout = time.Second

// Asked is the state once the questions have been written.
func (t Traits) Asked(now time.Time, ascii bool) Answers {
	if t.Console {
		return Answers{}
	}
	return Answers{asked: now, width: !ascii}
}

// Expected reports whether answers may still come, which the shell would take for keys.
func (a *Answers) Expected(now time.Time) bool {
	return !a.asked.IsZero() && now.Sub(a.asked) < answerTimeout
}

// Take reports whether a message is an answer, and whether █ is two cells wide.
func (a *Answers) Take(msg tea.Msg) (wide, taken bool) {
	switch msg := msg.(type) {
	case tea.CursorPositionMsg:
		wide = a.width && msg.Y == widthProbeLine-1 && msg.X == 2 // counted from 0
		a.width = false
		return wide, true
	case uv.PrimaryDeviceAttributesEvent:
		*a = Answers{}
		return false, true
	case tea.ModeReportMsg, tea.KeyboardEnhancementsMsg, tea.ColorProfileMsg, tea.EnvMsg, tea.CapabilityMsg:
		return false, true
	}
	return false, false
}
