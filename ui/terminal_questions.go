package ui

import (
	"time"

	"vramscope/ui/cell"

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
//	DECRQM 2026                     synchronized output           frames without tearing (handled by Bubble Tea)
//	█ at line 2, then DSR 6         cursor position               is an ambiguous glyph one cell wide?
//	DA1                             device attributes             every terminal answers it, and last

// widthProbeLine is where the glyph is measured. On the first line the answer
// could be mistaken for Shift-F3.
const widthProbeLine = 2

// questions are written before the first frame, which covers what the probe
// (or a terminal that does not know a question) leaves on the screen.
func (t *terminal) questions() string {
	if t.traits.console {
		return "" // ASCII, dark and unsynchronized are known already
	}
	// Bubble Tea asks for mode 2026 by itself except over SSH.
	ask := ansi.RequestBackgroundColor + ansi.RequestModeSynchronizedOutput
	if !t.traits.ascii {
		ask += ansi.CursorPosition(1, widthProbeLine) + "█" + ansi.RequestCursorPositionReport
	}
	return ask + ansi.RequestPrimaryDeviceAttributes
}

// answers is what the terminal has said so far.
type answers struct {
	pending time.Time // when it was asked; zero: nothing is expected (any more)
	width   bool      // the width of █ is still open
}

// Answers that have not come after so long are not waited for at the end.
const answerTimeout = time.Second

// expected reports whether answers may still be on their way. A program that
// ended now would leave them to the shell, as if they had been typed.
func (a answers) expected(now time.Time) bool {
	return !a.pending.IsZero() && now.Sub(a.pending) < answerTimeout
}

// takeAnswer looks whether a message is an answer of the terminal, and
// reports whether the screen must change for it.
func (m *model) takeAnswer(msg tea.Msg) (changed, taken bool) {
	switch msg := msg.(type) {
	case tea.BackgroundColorMsg:
		if m.dark == msg.IsDark() {
			return false, true
		}
		m.dark = msg.IsDark()
		m.restyle()
		return true, true
	case tea.CursorPositionMsg:
		if !m.answers.width {
			return false, true
		}
		m.answers.width = false
		if msg.Y == widthProbeLine-1 && msg.X == 2 { // counted from 0: two cells to the right
			m.look.Glyphs = cell.ASCIIGlyphs()
			return true, true
		}
		return false, true
	case uv.PrimaryDeviceAttributesEvent:
		m.answers = answers{}
		return false, true
	case tea.ModeReportMsg, tea.KeyboardEnhancementsMsg, tea.ColorProfileMsg, tea.EnvMsg, tea.CapabilityMsg:
		return false, true
	}
	return false, false
}
