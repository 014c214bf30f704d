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

// firstSnapshotTimeout is how long the first frame waits for a snapshot.
const firstSnapshotTimeout = 25 * time.Millisecond

// endTimeout is how long an orderly end may take before the watchdog exits.
const endTimeout = 800 * time.Millisecond

// Run shows the monitor until the user quits, a signal ends it, the terminal closes,
// or ctx is done; it then returns the cause of ctx where that is not a plain
// cancellation. It always restores the terminal.
//
//	Source ── one slot ──→ feed goroutine ── Send (blocks) ─┐
//	keys ── Bubble Tea's reader ────────────────────────────┼→ event loop: Update → View → terminal
//	output drained, resizes ────────────────────────────────┘
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
	drained  chan struct{} // the output no longer stalls
	lost     atomic.Bool   // output was dropped while it stalled
	signals  *terminal.Signals
}

// errQuit ends a run after a signal or a closed terminal.
var errQuit = errors.New("asked to end")

func (r *run) run(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	r.cancel = cancel
	defer cancel(nil)
	caught := &crashes{end: func(err error) { cancel(err) }}

	var err error
	r.terminal, err = terminal.Open(r.options.Input, r.options.Output, r.options.Environ, terminal.Listeners{
		Drained: r.noteDrained,
		Ended:   func(error) { cancel(errQuit) }, // a closed terminal shows no message
		// Ctrl-C is a key in the event loop; this is for when the loop hangs.
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

	r.program = tea.NewProgram(&screen{m, r.terminal},
		tea.WithContext(ctx),
		tea.WithInput(r.terminal.Input),
		tea.WithOutput(r.terminal.Output),
		tea.WithEnvironment(r.options.Environ),
		// Frames are drawn as soon as they are there, by screen. What is left of the
		// renderer is its clock, which cannot be switched off.
		tea.WithoutRenderer(),
		tea.WithFPS(1),
		tea.WithFilter(r.filter),
		// Detecting one takes time, and the themes have theirs.
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
	r.terminal.Close()
	close(finished)
	joined.Wait()
	if r.options.Leave != nil && !aborted {
		r.options.Leave(m.viewpoint())
	}
	return reason(err, cause)
}

// reason is the error that Run returns.
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

// firstFrame paints before Bubble Tea has started.
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
	r.terminal.Enter(m.View())
}

// feed sends snapshots from the slot to the event loop. Send blocks until the loop
// takes the message, so that a slow loop gets the newest snapshot and no queue. In a
// second without a snapshot feed sends the time.
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

// clockSlack is how late a snapshot may be before the time is sent without it: two
// frames a second would cost twice as much as one.
const clockSlack = 150 * time.Millisecond

// noteDrained reports that the terminal takes output again. It never blocks.
func (r *run) noteDrained(lost bool) {
	if lost {
		r.lost.Store(true)
	}
	select {
	case r.drained <- struct{}{}:
	default: // reported already
	}
}

// obey handles the signals.
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
			r.program.Send(tea.WindowSizeMsg{}) // which may have changed meanwhile
		case <-r.signals.Resizes:
			r.program.Send(tea.WindowSizeMsg{})
		}
	}
}

// watch restores the terminal and exits where the end takes longer than endTimeout.
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
