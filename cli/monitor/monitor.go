package monitor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"vramscope/action/flush"
	"vramscope/action/signal"
	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/doctor"
	"vramscope/cli/present"
	"vramscope/cli/restart"
	"vramscope/cli/sources"
	"vramscope/daemon/socket"
	"vramscope/internal/bounded"
	"vramscope/internal/panics"
	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/recording"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/ui"
)

// Run shows the live screen, or one table if the output cannot show a screen.
func Run(ctx context.Context, p *command.Program) error {
	if !p.HasScreen() {
		return InsteadOfScreen(p, present.Table(ctx, p))
	}
	defer p.QuickStart()()
	src, err := sources.Open(p, sources.DemoPast)
	if err != nil {
		return err
	}
	input, err := Keyboard(p)
	if err != nil {
		return err
	}
	src.Options.OpenDeadline = sources.MonitorTimeout
	return watch(ctx, src, input)
}

// InsteadOfScreen says below a table why this terminal shows no live screen. It returns err.
func InsteadOfScreen(p *command.Program, err error) error {
	if err == nil && command.IsTerminal(p.Stdout) {
		_, _ = fmt.Fprintf(p.Stderr, "vramscope: TERM=%q cannot move the cursor: this is one table\n  TERM=xterm-256color vramscope   the live screen\n",
			text.Clean(p.Getenv("TERM")))
	}
	return err
}

// Keyboard returns the terminal that keys are read from, even if standard input is something else.
func Keyboard(p *command.Program) (*os.File, error) {
	if command.IsTerminal(p.Stdin) {
		return p.Stdin, nil
	}
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, command.Usage("standard input is not a terminal, so that no key can be read; vramscope once writes a table")
	}
	return terminal, nil
}

// watch runs the sampler and the screen. After an upgrade of the driver it restarts the program.
func watch(ctx context.Context, src *sources.Set, input *os.File) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	previous := restart.Previous(src.Program)
	if previous != nil {
		src.Options.Since = previous.At
	}
	restart.WatchUpgrades(src, previous, cancel)
	watching := src.WatchGuard()
	sampling := sampler.New(src.Options)
	src.Note = sampling.Note
	if watching != nil {
		watching.Note = src.Note
	}
	previous.TakeOver(sampling)
	src.CatchUp(sampling, 5*time.Second) // so that the first screen has a history
	waitForProbes := src.Listen(ctx, cancel)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		if err := sampling.Run(ctx); err != nil {
			cancel(err)
		}
	}()

	underway := newInflight()
	waits := previous != nil // for the driver: an upgrade can have several steps
	err := show(ctx, cancel, src, sampling, input, underway, waits, src.PauseGuard(watching))
	cancel(nil)
	underway.end(actionTimeout)
	// If a driver call hangs, so does the sampler; the program ends anyway.
	bounded.Ended(finished, 500*time.Millisecond)
	waitForProbes()
	if errors.Is(err, restart.ErrUpgraded) {
		return restart.Now(src.Program, err, nil)
	}
	return err
}

// unusable returns why there is nothing to show after the first sample.
func unusable(ctx context.Context, src *sources.Set, sampling *sampler.Sampler) error {
	first := sampling.Latest()
	if first.Driver.State != snapshot.DriverOK && first.Driver.ProbesAnswering == 0 && src.Probes != nil {
		// The screen can show probes without a driver: wait for their first answers.
		settling, cancel := context.WithTimeout(ctx, sources.OnceProbing)
		src.Probes.Settle(settling)
		cancel()
		first = sources.Refresher(sampling)(ctx)
	}
	if first.Driver.State == snapshot.DriverStarting {
		return nil
	}
	return src.Unusable(first)
}

// show runs the screen; with waits, even without a driver. pauseGuard is nil if there is no guard to
// pause.
func show(ctx context.Context, failed context.CancelCauseFunc, src *sources.Set, sampling *sampler.Sampler, input *os.File, underway *inflight,
	waits bool, pauseGuard func(ctx context.Context, byDaemon bool, d time.Duration) error) error {
	// The first sample decides whether there is a screen at all.
	select {
	case <-sampling.Updates():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p := src.Program
	defer p.StayLight()()
	if err := unusable(ctx, src, sampling); err != nil && !waits {
		return err
	}
	past := recording.Join(sampling.History(), failed)
	if !p.Flags.Demo { // the simulator makes its own past
		go takePast(ctx, past, sampling, src, failed)
	}
	o := ScreenOptions(p, src.Settings, input)
	o.Source, o.Sampling, o.History = sampling, sampling, past
	o.Actions = actions(src, sampling, underway)
	o.ReadOnly = src.Settings.ReadOnly
	if src.Table != nil {
		o.Environment = src.Table.Environment
	}
	SaveFrom(p, &o)
	if !src.Options.Simulated { // a simulated box has new incidents at each start
		o.Seen, o.KeepSeen = readSeen(command.StateHome()), func(seen map[string]time.Time) error { return keepSeen(command.StateHome(), seen, p.Now()) }
	}
	o.PauseGuard = pauseGuard
	o.Details = func(wanted bool) {
		src.Details(wanted)
		if wanted && src.Library != nil {
			go sampling.Refresh(ctx) // the screen shows the details at once
		}
	}
	o.LookNow = sampling.SampleNow
	o.Doctor = func() []string { return doctor.Report(src, sampling.Latest(), nil) }
	return ui.Run(ctx, o)
}

// ScreenOptions returns the options that every screen takes from the settings.
func ScreenOptions(p *command.Program, s *config.Settings, input *os.File) ui.Options {
	return ui.Options{
		Settings: ui.Settings{
			Theme: s.Theme, Sort: s.Sort, Reversed: s.Reversed, Lines: s.GraphStyle == config.Lines, Window: s.GraphWindow,
			Mouse: s.Mouse, Bell: s.Bell, Columns: s.Columns,
		},
		ASCII: s.ASCII, IdleAfter: time.Duration(s.IdleMinutes) * time.Minute,
		Version: command.VersionNumber(), Input: input, Output: p.Stdout, Environ: os.Environ(), Now: p.Now,
	}
}

// SaveFrom makes a screen save snapshots, pages and its setup.
func SaveFrom(p *command.Program, o *ui.Options) {
	o.Save = func(snap *snapshot.Snapshot) (string, error) { return saveSnapshot(command.StateHome(), snap) }
	o.SavePage = func(at time.Time, page string) (string, error) {
		return saveFile(command.StateHome(), "why", ".txt", at, []byte(page))
	}
	o.SaveSettings = func(set ui.Settings) (string, error) { return saveSettings(p, set) }
}

// actions returns the actions that the screen may do on the box.
func actions(src *sources.Set, sampling *sampler.Sampler, underway *inflight) ui.Actions {
	actions := ui.Actions{Segments: src.SegmentsAction(sampling.Latest), Holders: src.HoldersAction(sampling.Latest)} // these actions only read
	if src.Settings.ReadOnly {
		return actions
	}
	flusher := src.Flusher(sources.Refresher(sampling))
	flusher.Note = sampling.Note
	sender := &signal.Sender{
		Send: src.Signal, Latest: sampling.Latest, Log: src.Log, Note: sampling.Note, Clock: src.Options.Clock,
	}
	actions.Flush, actions.Signal = during(underway, flusher.Run), during(underway, sender.Run)
	if src.Table == nil {
		return actions // the other actions need a real process
	}
	actions.Server = func(ctx context.Context, id process.Identity) (flush.Result, error) {
		if _, err := src.Servers.Find(id); err != nil {
			return flush.Result{}, nil //nolint:nilerr // it is of no server that may be asked
		}
		would, err := flusher.Run(ctx, flush.Request{Process: id, Level: flush.Sleep, DryRun: true})
		if err != nil {
			if wakes, failed := flusher.Run(ctx, flush.Request{Process: id, Level: flush.Wake, DryRun: true}); failed == nil {
				return wakes, nil
			}
		}
		return would, err
	}
	attacher := sources.Attacher(src.Table, src.Log)
	attacher.Latest, attacher.Note = sampling.Latest, sampling.Note
	actions.Attachable, actions.AuditLog = attacher.Examine, src.Log.Directory
	actions.Attach = during(underway, attacher.Run)
	return actions
}

// takePast puts the past, from recordings and a daemon, before the history of a sampler, and warms the
// sampler's forecasters with that past. It returns when the context ends.
func takePast(ctx context.Context, past *recording.Joined, sampling *sampler.Sampler, src *sources.Set, failed context.CancelCauseFunc) {
	defer panics.To(failed, "the past")
	var own snapshot.History
	if r, err := recording.Open(src.Program.RecordingsOf(false)); err == nil {
		defer func() { _ = r.Close() }() // nothing was written
		own = r
	}
	before := own
	if own == nil || !goesOn(own, src.Program.Now()) {
		src.Daemon.Settle(ctx)
		before = pastOf(own, socket.NewPast(src.Daemon))
	}
	putBefore(ctx, past, before, sampling.Warm)
	<-ctx.Done()
}

// putBefore puts a past before the live history, and once more lastOfPast later: an error just before
// the first sample is noticed a tick later, and recorded two seconds after that.
func putBefore(ctx context.Context, live interface{ Before(snapshot.History) bool }, past snapshot.History, warm func(snapshot.History)) {
	if !live.Before(past) {
		return
	}
	warm(past)
	select {
	case <-time.After(lastOfPast):
		live.Before(past)
	case <-ctx.Done():
	}
}

const lastOfPast = 5 * time.Second

// goesOn reports whether a recording is being written: its samples are at most a minute apart.
func goesOn(recorded snapshot.History, now time.Time) bool {
	_, newest := recorded.Span()
	return now.Sub(newest) < 2*time.Minute
}

// pastOf returns a daemon's history and, before that, this user's recordings. Either can be empty.
func pastOf(own, daemon snapshot.History) snapshot.History {
	if own == nil {
		return daemon
	}
	if oldest, _ := daemon.Span(); oldest.IsZero() {
		return own
	}
	return recording.Whole(daemon, func() snapshot.History { return own })
}

// actionTimeout is how long the end of the monitor waits for actions, which gdb can slow down.
const actionTimeout = 15 * time.Second

// inflight counts the actions under way. The end of the program cancels them and waits, so that gdb
// is not interrupted inside a process and the audit log is complete.
type inflight struct {
	ctx  context.Context // ends when the program does
	stop context.CancelFunc

	mu    sync.Mutex // no action begins once ctx has ended
	calls sync.WaitGroup
}

func newInflight() *inflight {
	f := &inflight{}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// end cancels all actions and waits for them, but not longer than the timeout.
func (f *inflight) end(timeout time.Duration) {
	f.mu.Lock()
	f.stop()
	f.mu.Unlock()
	bounded.Wait(&f.calls, timeout)
}

// during returns an action that end cancels and waits for. After end, the action does nothing.
func during[Request, Result any](f *inflight, run func(context.Context, Request) (Result, error)) func(context.Context, Request) (Result, error) {
	return func(ctx context.Context, r Request) (result Result, err error) {
		f.mu.Lock()
		if err := f.ctx.Err(); err != nil {
			f.mu.Unlock()
			return result, err
		}
		f.calls.Add(1)
		f.mu.Unlock()
		defer f.calls.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(f.ctx, cancel)()
		return run(ctx, r)
	}
}
