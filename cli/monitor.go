package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"vramscope/cli/config"
	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/recording"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/ui"
)

// monitor is the live screen, or one table without a terminal that can show it.
func (p *program) monitor(ctx context.Context) error {
	if !p.hasScreen() {
		return p.insteadOfScreen(p.runOnce(ctx, onceFlags{format: "table"}))
	}
	defer p.quickStart()()
	s, err := p.settings()
	if err != nil {
		return err
	}
	src, err := p.sources(&s, demoPast)
	if err != nil {
		return err
	}
	input, err := p.keyboard()
	if err != nil {
		return err
	}
	src.options.OpenDeadline = monitorTimeout
	return p.watch(ctx, src, &s, input)
}

// demoPast is the past of the monitor's simulated box: enough to fill graph and
// sparklines, and to call its leak one.
const demoPast = 12 * time.Minute

func (p *program) hasScreen() bool {
	kind := p.getenv("TERM")
	return isTerminal(p.stdout) && kind != "" && kind != "dumb"
}

// insteadOfScreen tells a person, below the table, why there is no live screen.
func (p *program) insteadOfScreen(err error) error {
	if err == nil && isTerminal(p.stdout) {
		_, _ = fmt.Fprintf(p.stderr, "vramscope: TERM=%q cannot move the cursor: this is one table\n  TERM=xterm-256color vramscope   the live screen\n",
			text.Clean(p.getenv("TERM")))
	}
	return err
}

// keyboard is the terminal, also where standard input is something else.
func (p *program) keyboard() (*os.File, error) {
	if isTerminal(p.stdin) {
		return p.stdin, nil
	}
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, usage("standard input is not a terminal, so that no key can be read; vramscope once writes a table")
	}
	return terminal, nil
}

// watch runs sampler and screen, after an upgrade of the driver in a new process.
func (p *program) watch(ctx context.Context, src *sources, s *config.Settings, input *os.File) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	previous := p.handover()
	if previous != nil {
		src.options.Since = previous.at
	}
	p.watchUpgrades(src, previous, cancel)
	watching := src.watchGuard(s)
	sampling := sampler.New(src.options)
	src.note = sampling.Note
	if watching != nil {
		watching.Note = src.note
	}
	previous.takeOver(sampling)
	src.catchUp(sampling, 5*time.Second) // so that the first screen has a history
	waitForProbes := src.listen(ctx, cancel)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		if err := sampling.Run(ctx); err != nil {
			cancel(err)
		}
	}()

	waits := previous != nil // for the driver, which may be upgraded in steps
	err := p.show(ctx, cancel, sampling, src, s, input, waits, src.pauseGuard(watching))
	cancel(nil)
	src.inflight.end(actionTimeout)
	// A driver call that hangs holds the sampler; the program ends anyway.
	select {
	case <-finished:
	case <-time.After(500 * time.Millisecond):
	}
	waitForProbes()
	if errors.Is(err, errUpgraded) {
		return p.restart(err, nil)
	}
	return err
}

// show runs the screen, also without a driver where it waits for one. There may be no
// guard to pause.
func (p *program) show(ctx context.Context, failed context.CancelCauseFunc, sampling *sampler.Sampler, src *sources, s *config.Settings, input *os.File,
	waits bool, pauseGuard func(ctx context.Context, byDaemon bool, d time.Duration) error) error {
	// The first sample decides whether there is a screen at all.
	select {
	case <-sampling.Updates():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer p.stayLight()()
	first := sampling.Latest()
	if first.Driver.State != snapshot.DriverOK && first.Driver.ProbesAnswering == 0 && src.probes != nil {
		// Probes alone can be shown as well: wait for their first answers.
		settling, cancel := context.WithTimeout(ctx, onceProbing)
		src.probes.Settle(settling)
		cancel()
		refreshing, cancel := context.WithTimeout(ctx, sampleTimeout)
		first = sampling.Refresh(refreshing)
		cancel()
	}
	if first.Driver.State != snapshot.DriverStarting && !waits {
		if err := p.unusable(first, src, s); err != nil {
			return err
		}
	}
	past := recording.Join(sampling.History(), failed)
	if !p.flags.demo { // a simulated box begins with a past
		go p.takePast(ctx, past, sampling, src, failed)
	}
	o := p.screenOptions(s, input)
	o.Source, o.Sampling, o.History = sampling, sampling, past
	o.Actions = src.actions(sampling, s)
	o.ReadOnly = s.ReadOnly
	o.Environment = src.environment()
	o.SavePage = func(at time.Time, page string) (string, error) { return saveWhy(stateHome(), at, page) }
	o.Save = func(snap *snapshot.Snapshot) (string, error) { return saveSnapshot(stateHome(), snap) }
	o.SaveSettings = p.saveSettings
	o.PauseGuard = pauseGuard
	o.Details = src.detailsOn(ctx, sampling)
	o.LookNow = sampling.SampleNow
	o.Doctor = func() []string { return p.report(src, s, sampling.Latest(), nil) }
	return ui.Run(ctx, o)
}

// screenOptions are what every screen of the monitor takes from the settings.
func (p *program) screenOptions(s *config.Settings, input *os.File) ui.Options {
	return ui.Options{
		Theme: s.Theme, ASCII: s.ASCII, Mouse: s.Mouse, Silent: !s.Bell, IdleAfter: time.Duration(s.IdleMinutes) * time.Minute,
		GraphWindow: s.GraphWindow, GraphLines: s.GraphStyle == config.Lines, Sort: s.Sort, Reversed: s.Reversed, Columns: s.Columns,
		Version: versionNumber(), Input: input, Output: p.stdout, Now: p.now,
	}
}

func (src *sources) environment() func(process.Identity) ([]string, error) {
	if src.table == nil {
		return nil
	}
	return func(id process.Identity) ([]string, error) {
		variables, err := src.table.Environment(id)
		lines := make([]string, len(variables))
		for i, v := range variables {
			lines[i] = v.Name + "=" + v.Value
		}
		return lines, err
	}
}
