package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/bounded"
)

// endTimeout is how long an orderly end may take before the watchdog exits.
const endTimeout = 800 * time.Millisecond

// Model is shown by a Program. Update draws, Frame returns the last frame, and View has the modes, but no content.
type Model interface {
	tea.Model
	// Begin draws the first frame, before any message comes.
	Begin(ctx context.Context, width, height int)
	Frame() Frame
}

type Program struct {
	Input, Output *os.File
	Environ       []string
	Driver        Driver // closed while the program is stopped; may be nil
	// Model makes the model for the terminal.
	Model func(Hold) (Model, error)
	// Feed sends the model its messages until the context ends. Send blocks until the event loop takes a message,
	// so that no queue builds up.
	Feed func(ctx context.Context, send func(tea.Msg))
	// Aligned gets a moment at which Bubble Tea's clock ticks, as it does each second: other work at these moments
	// needs no wake-up of its own. May be nil.
	Aligned func(at time.Time)

	model    Model
	terminal *terminal
	crashes  crashes
	program  *tea.Program
	cancel   context.CancelCauseFunc
	signals  *Signals
	drained  chan struct{} // the output no longer stalls
	lost     atomic.Bool   // output was dropped since the last DrainedMsg
}

// errQuit ends a run for Hold.End, a signal or a closed terminal.
var errQuit = errors.New("asked to end")

// Run shows the model until Hold.End, a signal, the end of the terminal or of the context. It returns the cause of the
// context if that is not a plain cancellation, and a *Crash after a panic. It restores the terminal.
//
//	Feed ── Send (blocks) ──────────────────────────────────┐
//	keys ── Bubble Tea's reader ────────────────────────────┼→ event loop: Update → View → terminal
//	output drained, resizes ────────────────────────────────┘
//	signals, hang-up, crash, Hold.End ──→ cancel ──→ the loop ends ──→ terminal restored
//	                                         └──→ watchdog: restores and exits if it does not
func (p *Program) Run(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	p.cancel, p.crashes.end, p.drained = cancel, cancel, make(chan struct{}, 1)
	var err error
	p.terminal, err = open(p.Input, p.Output, p.Environ, listeners{
		Drained: p.noteDrained,
		Ended:   func(error) { cancel(errQuit) }, // a closed terminal shows no message
		// Ctrl-C is a key in the event loop; this is for when the loop hangs.
		Interrupted: func() { time.AfterFunc(endTimeout, func() { cancel(errQuit) }) },
	})
	if err != nil {
		return err
	}
	p.signals = CatchSignals()
	defer p.signals.Release()
	hold := NewHold(p.terminal.Traits)
	hold.End, hold.Stalled, hold.Suspend = func() { cancel(errQuit) }, p.terminal.Output.Stalled, p.suspend
	if p.model, err = p.Model(hold); err != nil {
		return err
	}
	if err := p.terminal.raw(); err != nil {
		return err
	}
	p.firstFrame(ctx)
	p.program = tea.NewProgram(painted{p},
		tea.WithContext(ctx),
		tea.WithInput(p.terminal.Input),
		tea.WithOutput(p.terminal.Output),
		tea.WithEnvironment(p.Environ),
		// painted draws the frames. The renderer's clock still runs, because it cannot be switched off: see Aligned.
		tea.WithoutRenderer(),
		tea.WithFPS(1),
		tea.WithFilter(p.filter),
		// Detecting the profile takes time; the themes use a profile of their own.
		tea.WithColorProfile(colorprofile.TrueColor),
		tea.WithoutSignalHandler())

	var joined sync.WaitGroup
	feed := func(ctx context.Context) { p.Feed(ctx, p.program.Send) }
	for _, work := range []func(context.Context){feed, p.obey} {
		joined.Go(func() {
			defer p.crashes.caught()
			work(ctx)
		})
	}
	finished := make(chan struct{})
	go p.watch(ctx, finished)

	_, err = p.program.Run()
	cause := context.Cause(ctx)
	cancel(nil)
	p.terminal.Close()
	close(finished)
	joined.Wait()
	return reason(err, cause)
}

func reason(err, cause error) error {
	var crash *Crash
	switch {
	case errors.As(cause, &crash):
		return crash
	case errors.Is(cause, errQuit), errors.Is(cause, context.Canceled):
		return nil
	case cause != nil:
		return cause
	case err != nil:
		return fmt.Errorf("the screen: %w", err)
	}
	return nil
}

func (p *Program) firstFrame(ctx context.Context) {
	defer p.crashes.caught()
	width, height := p.terminal.Size()
	p.model.Begin(ctx, width, height)
	p.terminal.Enter(p.model.View(), p.model.Frame().Lines)
}

// noteDrained reports that the terminal takes output again. It never blocks.
func (p *Program) noteDrained(lost bool) {
	if lost {
		p.lost.Store(true)
	}
	select {
	case p.drained <- struct{}{}:
	default: // reported already
	}
}

func (p *Program) obey(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.drained:
			p.program.Send(DrainedMsg{Lost: p.lost.Swap(false)})
		case <-p.signals.Ends:
			p.cancel(errQuit)
			return
		case <-p.signals.Stops:
			p.program.Send(suspendMsg{})
		case <-p.signals.Continues:
			p.program.Send(continuedMsg{})
			p.program.Send(tea.WindowSizeMsg{}) // the size may have changed meanwhile
		case <-p.signals.Resizes:
			p.program.Send(tea.WindowSizeMsg{})
		}
	}
}

// watch restores the terminal and exits if the end takes longer than endTimeout.
func (p *Program) watch(ctx context.Context, finished <-chan struct{}) {
	select {
	case <-finished:
		return
	case <-ctx.Done():
	}
	if bounded.Ended(finished, endTimeout) {
		return
	}
	p.terminal.Abandon()
	code := 0
	if err := reason(nil, context.Cause(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, "vramscope:", err)
		code = 1
		if crash, ok := errors.AsType[*Crash](err); ok {
			code = crash.ExitCode()
		}
	}
	os.Exit(code)
}

// filter handles the messages for the terminal. Bubble Tea would leave most of them to its renderer, which is off.
func (p *Program) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return p.measured(msg)
	case tea.RawMsg:
		p.terminal.Send(fmt.Sprint(msg.Msg))
		return nil
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeSynchronizedOutput && msg.Value == ansi.ModeReset {
			p.terminal.screen.synchronized = true
		}
	case RedrawMsg:
		p.terminal.screen.valid = false
	case ResumedMsg:
		p.align()
	case DrainedMsg:
		if msg.Lost {
			p.terminal.screen.valid = false
		}
	}
	return msg
}

// measured returns the kernel's size in place of one from the input: typed, pasted or garbled input can look like a
// terminal's report of its size.
func (p *Program) measured(size tea.WindowSizeMsg) tea.Msg {
	if width, height, ok := p.terminal.KernelSize(); ok {
		return tea.WindowSizeMsg{Width: width, Height: height}
	}
	size.Width, size.Height = Limit(size.Width, size.Height)
	return size
}

// align gives Aligned a tick of the renderer's clock, which has just started.
func (p *Program) align() {
	if p.Aligned != nil {
		p.Aligned(time.Now())
	}
}

// suspend restores the terminal until the program is continued.
func (p *Program) suspend() tea.Cmd {
	release := tea.Exec(suspension{p}, func(err error) tea.Msg { return ResumedMsg{err} })
	return func() tea.Msg {
		if err := (suspension{p}).prepare(); err != nil {
			return ResumedMsg{err}
		}
		return release()
	}
}

// painted draws what has changed on the screen after each message.
type painted struct{ *Program }

// Init implements tea.Model. The first frame carries the questions to the terminal.
func (p painted) Init() tea.Cmd {
	p.align()
	return p.model.Init()
}

func (p painted) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return p, p.take(msg) }

// take handles the program's own messages and passes the others to the model. It catches panics.
func (p painted) take(msg tea.Msg) tea.Cmd {
	defer p.crashes.caught()
	switch msg.(type) {
	case suspendMsg:
		return p.crashes.guarded(p.suspend())
	case continuedMsg: // after a SIGSTOP, when the shell had the terminal
		return func() tea.Msg {
			_ = p.terminal.raw() // a closed terminal is noticed by its output
			return RedrawMsg{}
		}
	case endMsg:
		p.cancel(errQuit)
		return nil
	}
	_, cmd := p.model.Update(msg)
	return p.crashes.guarded(cmd)
}

func (p painted) View() tea.View {
	defer p.crashes.caught()
	view := p.model.View()
	p.terminal.Paint(view, p.model.Frame())
	return view
}
