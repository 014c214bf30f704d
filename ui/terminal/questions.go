package terminal

import (
	"time"

	tea "charm.land/bubbletea/v2"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// The terminal is asked these questions once, before the first frame; the Linux console is not asked. No frame waits for
// the answers, which come through the ordinary input.
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

// answerTimeout is how long answers are expected after the questions.
const answerTimeout = time.Second

// Expect notes that the questions have been written: Quit then waits for the answers, which a shell would take for keys.
func (h *Hold) Expect(now time.Time, ascii bool) {
	if !h.Traits.Console {
		h.Asked, h.width = now, !ascii
	}
}

func (h *Hold) expects(now time.Time) bool {
	return !h.Asked.IsZero() && now.Sub(h.Asked) < answerTimeout
}

// TakeAnswer reports whether a message is about the terminal and of no further use to the model, and whether it says that
// █ is two cells wide. After the last answer it ends a run for which Quit was called.
func (h *Hold) TakeAnswer(msg tea.Msg, now time.Time) (wide, taken bool) {
	switch msg := msg.(type) {
	case tea.CursorPositionMsg:
		wide = h.width && msg.Y == widthProbeLine-1 && msg.X == 2 // counted from 0
		h.width = false
	case uv.PrimaryDeviceAttributesEvent: // the last answer
		h.Asked, h.width = time.Time{}, false
	case tea.ModeReportMsg, tea.KeyboardEnhancementsMsg, tea.ColorProfileMsg, tea.EnvMsg, tea.CapabilityMsg:
	default:
		return false, false
	}
	if h.Ending && !h.expects(now) {
		h.End()
	}
	return wide, true
}
