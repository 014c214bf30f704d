package ui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vramscope/ui/terminal"
)

// filter takes the messages that are for the terminal, which Bubble Tea would leave to
// its renderer.
func (r *run) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return r.measured(msg)
	case tea.RawMsg:
		r.terminal.Send(fmt.Sprint(msg.Msg))
		return nil
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeSynchronizedOutput && msg.Value == ansi.ModeReset {
			r.terminal.Synchronize()
		}
	case redrawMsg:
		r.terminal.Redraw()
	case drainedMsg:
		if msg.lost {
			r.terminal.Redraw()
		}
	}
	return msg
}

// measured replaces the size that was found in the input with the kernel's: typed,
// pasted or garbled input can look like a terminal's report of its size.
func (r *run) measured(size tea.WindowSizeMsg) tea.Msg {
	if width, height, ok := r.terminal.KernelSize(); ok {
		return tea.WindowSizeMsg{Width: width, Height: height}
	}
	size.Width, size.Height = terminal.Limit(size.Width, size.Height)
	return size
}

// screen draws what the model shows after each message, where it differs.
type screen struct {
	*model
	terminal *terminal.Terminal
}

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := s.model.Update(msg)
	return s, cmd
}

// View implements tea.Model: Bubble Tea calls it when there may be something to draw.
func (s *screen) View() tea.View {
	defer s.crashes.caught()
	view := s.model.View()
	s.terminal.Paint(view, s.st.width, s.st.height)
	return view
}
