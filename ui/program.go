package ui

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

	"vramscope/sampler/snapshot"
	"vramscope/ui/terminal"
)

// framesPerSecond is the renderer's clock. It runs whether or not there is
// anything to draw: at 60 it costs half a per cent of a core, at 10 a key
// still feels instant.
const framesPerSecond = 10

// firstSnapshotTimeout is how long the first frame waits for something to
// show. The sampler needs a few milliseconds; a driver that hangs, seconds.
const firstSnapshotTimeout = 25 * time.Millisecond

// endTimeout is how long an orderly end may take. After it the watchdog
// restores the terminal itself and exits: nothing in here may keep a program
// alive that was told to end.
const endTimeout = 800 * time.Millisecond

// Run shows the monitor until it is quit, a signal ends it, the terminal goes
// away, or ctx is done; then the cause of ctx is returned where it is more
// than a cancellation. The terminal is left as it was found in every case.
//
//	Source ── one slot ──→ feed goroutine ── Send (blocks) ─┐
//	keys, resizes ── Bubble Tea's reader ───────────────────┼→ event loop: Update → View
//	output drained ─────────────────────────────────────────┘
//	signals, hang-up, crash, q ──→ cancel ──→ the loop ends ──→ terminal restored
//	                                    └──→ watchdog: restores and exits if it does not
func Run(ctx context.Context, options Options) error {
	options = options.withDefaults()
	r := &run{options: options, exit: os.Exit, drained: make(chan struct{}, 1)}
	return r.run(ctx)
}

// run is one run of the program.
type run struct {
	options  Options
	exit     func(int)
	terminal *terminal.Terminal
	program  *tea.Program
	cancel   context.CancelCauseFunc
	drained  chan struct{} // the output was stalled and is no longer
	lost     atomic.Bool   // bytes were dropped meanwhile
	signals  *terminal.Signals
}

// errQuit ends a run that was asked to end: a signal, a closed terminal.
var errQuit = errors.New("asked to end")

func (r *run) run(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	r.cancel = cancel
	defer cancel(nil)
	caught := &crashes{end: func(err error) { cancel(err) }}

	var err error
	r.terminal, err = terminal.Open(r.options.Input, r.options.Output, r.options.Environ, terminal.Listeners{
		Drained: r.noteDrained,
		Ended:   func(error) { cancel(errQuit) }, // a terminal that is gone needs no message
		// Ctrl-C quits through the event loop like any key, unless that hangs.
		Interrupted: func() { time.AfterFunc(endTimeout, func() { cancel(errQuit) }) },
	})
	if err != nil {
		return err
	}
	r.signals = terminal.CatchSignals()
	defer r.signals.Release()
	m, err := newModel(r.options, r.terminal.Traits)
	if err != nil {
		return err
	}
	m.crashes = caught
	m.end = func() { cancel(errQuit) }
	m.stalled = r.terminal.Output.Stalled
	m.suspension = terminal.NewSuspension(r.terminal, r.options.Sampling)
	if err := r.terminal.Raw(); err != nil {
		return err
	}
	r.firstFrame(ctx, m, caught)

	r.program = tea.NewProgram(m,
		tea.WithContext(ctx),
		tea.WithInput(r.terminal.Input),
		tea.WithOutput(r.terminal.Output),
		tea.WithEnvironment(r.options.Environ),
		tea.WithFPS(framesPerSecond),
		tea.WithFilter(r.measured),
		// The themes are resolved for the terminal's colours already: the
		// renderer need not convert each cell again.
		tea.WithColorProfile(colorprofile.TrueColor),
		tea.WithoutSignalHandler())

	var joined sync.WaitGroup
	for _, work := range []func(context.Context){r.feed, r.obey} {
		joined.Go(func() {
			defer caught.caught()
			work(ctx)
		})
	}
	finished := make(chan struct{})
	go r.watch(ctx, finished)

	_, err = r.program.Run()
	aborted := errors.Is(err, tea.ErrProgramPanic)
	cause := context.Cause(ctx)
	cancel(nil)
	r.terminal.Close(aborted)
	close(finished)
	joined.Wait()
	if r.options.Leave != nil && !aborted {
		r.options.Leave(m.viewpoint())
	}
	return reason(err, cause)
}

// measured replaces a size that Bubble Tea has found among the keys with the
// one that the kernel knows: what is typed or pasted, or garbled by the line,
// can look like a terminal's report of it, and nothing would put that right.
func (r *run) measured(_ tea.Model, msg tea.Msg) tea.Msg {
	if _, ok := msg.(tea.WindowSizeMsg); !ok {
		return msg
	}
	if width, height, ok := r.terminal.KernelSize(); ok {
		return tea.WindowSizeMsg{Width: width, Height: height}
	}
	return msg
}

// reason is what the caller of Run should hear of an end.
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

// firstFrame paints before the renderer has started.
func (r *run) firstFrame(ctx context.Context, m *model, caught *crashes) {
	defer caught.caught()
	if r.options.Source.Latest() == nil {
		select {
		case <-r.options.Source.Updates():
		case <-time.After(firstSnapshotTimeout):
		case <-ctx.Done():
		}
	}
	width, height := r.terminal.Size()
	m.begin(width, height, r.options.Source.Latest())
	r.terminal.Enter(m.content)
}

// feed takes snapshots out of the one slot and hands them to the event loop.
// Send blocks until the loop takes the message, so a loop that is behind gets
// the newest snapshot next, never a queue of old ones. It also moves the clock
// where no snapshot does.
func (r *run) feed(ctx context.Context) {
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	var last *snapshot.Snapshot
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.options.Source.Updates():
			if next := r.options.Source.Latest(); next != nil && next != last {
				last = next
				clock.Reset(time.Second + clockSlack)
				r.program.Send(snapshotMsg{next})
			}
		case <-r.drained:
			r.program.Send(drainedMsg{lost: r.lost.Swap(false)})
		case <-clock.C:
			clock.Reset(time.Second)
			r.program.Send(clockMsg{})
		}
	}
}

// clockSlack lets a snapshot that is a little late still be what moves the
// clock: two frames a second would cost twice as much as one.
const clockSlack = 150 * time.Millisecond

// noteDrained passes on that output moves again. It never blocks.
func (r *run) noteDrained(lost bool) {
	if lost {
		r.lost.Store(true)
	}
	select {
	case r.drained <- struct{}{}:
	default: // the news is on its way already
	}
}

// obey does what signals ask for.
func (r *run) obey(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.signals.Ends:
			r.cancel(errQuit)
			return
		case <-r.signals.Stops:
			r.program.Send(suspendMsg{})
		case <-r.signals.Continues:
			r.program.Send(continuedMsg{})
		}
	}
}

// watch is the last resort: when the end has been asked for and does not come,
// the terminal is restored as far as it can be, and the process exits.
func (r *run) watch(ctx context.Context, finished <-chan struct{}) {
	select {
	case <-finished:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case <-finished:
		return
	case <-timer.C:
	}
	r.terminal.Abandon()
	code := 0
	if err := reason(nil, context.Cause(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, "vramscope:", err)
		code = 1
		var crash *Crash
		if errors.As(err, &crash) {
			code = crash.ExitCode()
		}
	}
	r.exit(code)
}
