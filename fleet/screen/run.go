package screen

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/fleet"
	"vramscope/ui/terminal"
)

// Options configure Run.
type Options struct {
	Poller *fleet.Poller
	Name   string // of the source: "http://prometheus:9090", "ssh"
	Resume *Place // where the screen was left; nil: the top
	// Message is shown first: why a box could not be opened.
	Message string
	Theme   string
	ASCII   bool

	Input, Output *os.File
	Environ       []string
	Now           func() time.Time
}

// Outcome is why Run has returned without an error.
type Outcome struct {
	Open  *fleet.Line // this box
	Shell string      // ssh to this destination, which is valid
	Place Place
}

// errEnded ends a run after a signal or a closed terminal.
var errEnded = errors.New("ended")

// Run shows the fleet until the user quits or opens something. It always restores the
// terminal.
func Run(parent context.Context, o Options) (Outcome, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	drained := make(chan bool, 1)
	t, err := terminal.Open(o.Input, o.Output, o.Environ, terminal.Listeners{
		Drained:     func(lost bool) { offer(drained, lost) },
		Ended:       func(error) { cancel(errEnded) },
		Interrupted: func() {},
	})
	if err != nil {
		return Outcome{}, err
	}
	signals := terminal.CatchSignals()
	defer signals.Release()
	m, err := newModel(&o, t.Traits)
	if err != nil {
		return Outcome{}, err
	}
	m.end, m.stalled = func() { cancel(errEnded) }, t.Output.Stalled
	if err := t.Raw(); err != nil {
		return Outcome{}, err
	}
	m.suspension = terminal.NewSuspension(t, nil)
	m.width, m.height = t.Size()
	m.view = o.Poller.View()
	m.ask()
	m.content = m.frame()
	t.Enter(m.View())
	program := tea.NewProgram(&painted{m, t}, tea.WithContext(ctx), tea.WithInput(t.Input), tea.WithOutput(t.Output), tea.WithEnvironment(o.Environ),
		tea.WithoutRenderer(), tea.WithFPS(1), tea.WithColorProfile(colorprofile.TrueColor), tea.WithoutSignalHandler(), tea.WithFilter(sized(t)))
	var feeding sync.WaitGroup
	feeding.Go(func() {
		clock := time.NewTicker(time.Second)
		defer clock.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-o.Poller.Updates():
				program.Send(viewMsg{o.Poller.View()})
			case <-clock.C:
				program.Send(clockMsg{})
			case lost := <-drained:
				program.Send(drainedMsg{lost})
			case <-signals.Ends:
				cancel(errEnded)
				return
			case <-signals.Stops:
				program.Send(suspendMsg{})
			case <-signals.Continues:
				program.Send(continuedMsg{})
				program.Send(tea.WindowSizeMsg{})
			case <-signals.Resizes:
				program.Send(tea.WindowSizeMsg{})
			}
		}
	})
	_, err = program.Run()
	cause := context.Cause(ctx)
	cancel(nil)
	t.Close()
	feeding.Wait()
	if errors.Is(cause, errEnded) || errors.Is(err, tea.ErrProgramKilled) && parent.Err() != nil {
		err = nil
	}
	m.outcome.Place = m.place
	return m.outcome, err
}

func offer(to chan bool, v bool) {
	select {
	case to <- v:
	default: // it is known already
	}
}

// painted draws what the model shows after each message, where it differs.
type painted struct {
	*model
	terminal *terminal.Terminal
}

// Update implements tea.Model.
func (p *painted) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := p.model.Update(msg)
	return p, cmd
}

// View implements tea.Model.
func (p *painted) View() tea.View {
	v := p.model.View()
	p.terminal.Paint(v, p.width, p.height)
	return v
}

// sized takes the messages that are for the terminal, and gives sizes as the kernel has
// them: typed input can look like a terminal's report of its size.
func sized(t *terminal.Terminal) func(tea.Model, tea.Msg) tea.Msg {
	return func(_ tea.Model, msg tea.Msg) tea.Msg {
		switch msg := msg.(type) {
		case tea.WindowSizeMsg:
			width, height := t.Size()
			return tea.WindowSizeMsg{Width: width, Height: height}
		case tea.ModeReportMsg:
			if msg.Mode == ansi.ModeSynchronizedOutput && msg.Value == ansi.ModeReset {
				t.Synchronize()
			}
		case drainedMsg:
			if msg.lost {
				t.Redraw()
			}
		case continuedMsg, resumedMsg:
			t.Redraw()
		}
		return msg
	}
}
