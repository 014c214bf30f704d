package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/guarding"
	"vramscope/cli/restart"
	"vramscope/cli/sources"
	"vramscope/daemon"
	"vramscope/daemon/leasing"
	"vramscope/daemon/socket"
	"vramscope/exporter"
	"vramscope/guard"
	"vramscope/nvml"
	"vramscope/recording"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

func Command(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "daemon",
		Annotations: map[string]string{command.Takes: "config demo gpu interval nvml-library read-only seed"},
		Short:       "sample without a screen: record, answer monitors, run a command",
		Long: `Samples as the monitor does, without a screen, until SIGTERM. With --record, or
record = true in [daemon] of the configuration, it records what it samples.
Monitors on this box get from it what only it may ask or has seen. [alerts] exec
is a command that it runs when an alert is raised about your processes. With
rules in [guard] it guards: it reports what it would flush, or with --guard=act
flushes (docs/guard.md). With --serve it is a Prometheus exporter
(docs/exporter.md).

There is one for each user. Root's is the box's: share in [daemon] lets other
users read numbers from it, never command lines or paths. SIGHUP has it read its
configuration anew. docs/daemon.md has the rest, and units for systemd.`,
		Example: `  vramscope daemon --record
  vramscope daemon --record --keep 7d --max-size 1GiB
  vramscope daemon --record --guard=act
  vramscope daemon --serve 127.0.0.1:9841    for Prometheus
  systemctl enable --now vramscope-daemon    root's, with contrib/systemd's unit`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDaemon(p, cmd) },
	}
	flags := cmd.Flags()
	flags.Bool("record", false, "record what is sampled")
	flags.String("keep", "", "how long recordings are kept (30d)")
	flags.String("max-size", "", "how large all recordings may become (4GiB)")
	flags.String("commands", "", "what is recorded of command lines: name or full (name)")
	modes := []string{string(guard.Off), string(guard.DryRun), string(guard.Act)}
	flags.Var(command.Choice(new(string), "MODE", modes...), "guard", "what the guard may do: off, dry-run or act (dry-run)")
	flags.Lookup("guard").NoOptDefVal = string(guard.DryRun)
	command.Complete(cmd, "guard", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
	flags.String("serve", "", "serve /metrics for Prometheus at this address (127.0.0.1:9841)")
	flags.String("web.config.file", "", "TLS and passwords of --serve, as exporter-toolkit has them")
	flags.Bool("serve-openly", false, "let --serve be read from other machines without a password")
	flags.Bool("serve-snapshot", false, "serve /snapshot.json, too: once --format json without arguments of commands")
	flags.String("process-labels", "", "what is exported of processes: pid, user, runtime, name, hpc_job, namespace, pod, container; or none (all)")
	flags.String("processes", "", "how many of a GPU's processes have series of their own: 0 to 1024 (16)")
	command.NameValues(cmd, map[string]string{"keep": "DURATION", "max-size": "SIZE", "commands": "WHAT", "serve": "ADDRESS", "web.config.file": "FILE", "process-labels": "LIST", "processes": "N"})
	return cmd
}

// daemonSettings returns the settings with the command's own flags.
func daemonSettings(p *command.Program, cmd *cobra.Command) (config.Settings, error) {
	s, err := p.Settings()
	if err != nil {
		return s, err
	}
	for _, o := range config.Options(&s) {
		flag := daemonFlagOf[o.Key]
		if flag == "" || !cmd.Flags().Changed(flag) {
			continue
		}
		if err := o.Set(cmd.Flags().Lookup(flag).Value.String()); err != nil {
			return s, command.Usage("--%s: %v", flag, err)
		}
	}
	for _, flag := range []string{"web.config.file", "process-labels", "processes", "serve-openly", "serve-snapshot"} {
		if s.Serve == "" && cmd.Flags().Changed(flag) {
			return s, command.Usage("--%s is about what --serve serves: nothing is served", flag)
		}
	}
	if cmd.Flags().Changed("guard") && s.Guard.Mode != guard.Off && !s.Guard.Guards() {
		return s, guarding.NoRules(p, "--guard: ")
	}
	if s.ReadOnly && s.Guard.Mode == guard.Act {
		return s, command.Usage("read-only is set, and guard.mode is act: one of the two must go")
	}
	if _, err := socket.ParseShare(s.Share); err != nil {
		return s, command.Usage("daemon.%v", err)
	}
	if len(s.AlertCommand) > 0 {
		if err := daemon.CheckCommand(s.AlertCommand); err != nil {
			return s, command.Usage("alerts.exec: %v", err)
		}
	}
	return s, nil
}

// daemonFlagOf maps a key of the configuration to the daemon's flag.
var daemonFlagOf = map[string]string{
	"daemon.record": "record", "recording.keep": "keep", "recording.max_size": "max-size", "recording.commands": "commands", "guard.mode": "guard",
	"exporter.address": "serve", "exporter.web_config_file": "web.config.file",
	"exporter.openly": "serve-openly", "exporter.snapshot": "serve-snapshot",
	"exporter.process_labels": "process-labels", "exporter.processes": "processes",
}

func runDaemon(p *command.Program, cmd *cobra.Command) error {
	defer p.StayLight()()
	p.TakeState()
	s, err := daemonSettings(p, cmd)
	if err == nil {
		err = checkExporter(&s)
	}
	if err != nil {
		return err
	}
	src := sources.OpenWith(p, &s, 0)
	src.Details(true) // for the recording and the exporter
	if src.Probes != nil {
		src.Options.Probes, src.Daemon = src.Probes, nil // this process is the daemon
	}
	directory := cmp.Or(p.DaemonDirectory, socket.Directory(os.Geteuid(), p.Getenv("XDG_RUNTIME_DIR")))
	if err := socket.MakeDirectory(directory); err != nil {
		return command.Fail("daemon: no place for its socket: %w", err)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)

	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	previous := restart.Previous(p)
	if previous != nil {
		src.Options.Since = previous.At
	}
	restart.WatchUpgrades(src, previous, cancel)
	src.Options.OpenDeadline = sources.OnceOpening
	guarding := src.NewGuard(s.Guard)
	sampling := sampler.New(src.Options)
	previous.TakeOver(sampling)
	if src.Watcher != nil {
		src.Watcher.Log = daemon.NewLog(p.Stderr, p.Getenv)
	}
	waitForProbes := src.Listen(ctx, cancel)

	o := daemonOptions(p, src, &s, sampling, directory)
	src.Driver.Listed = func(devices []nvml.Device) { // only warns: a driver that is loaded later can have the GPU
		if err := sources.Unmatched(s.GPUs, devices); err != nil {
			o.Log.Warn("not all of --gpu can be sampled", "error", err)
		}
	}
	if err := serveExporter(p, &s, &o); err != nil {
		return err
	}
	src.BindGuard(guarding, sampling, &o)
	if keeper := keepLeases(src, &s, sampling, &o); keeper != nil && guarding != nil {
		guarding.Wanted = keeper.Wanted
	}
	switch {
	case guarding == nil || previous == nil:
	case previous.Kept != nil:
		guarding.TakeOver(*previous.Kept)
	default:
		o.Log.Warn("the guard's pause and back-offs are lost over the restart")
	}
	o.Signals = signals
	o.Check = func() error {
		next, err := daemonSettings(p, cmd)
		if err == nil {
			err = checkReload(&next, s.Serve)
		}
		return err
	}
	err = daemon.Run(ctx, o)
	cancel(nil)
	waitForProbes()
	if errors.Is(err, restart.ErrUpgraded) || errors.Is(err, daemon.ErrReload) {
		signal.Ignore(syscall.SIGHUP) // a second SIGHUP must not end the new process before it catches the signal
		var left *guard.Kept
		if guarding != nil {
			left = new(guarding.Keep())
		}
		return restart.Now(p, err, left)
	}
	if running, is := errors.AsType[*daemon.Running](err); is {
		return command.Fail("%w", running)
	}
	return err
}

func daemonOptions(p *command.Program, src *sources.Set, s *config.Settings, sampling *sampler.Sampler, directory string) daemon.Options {
	share, _ := socket.ParseShare(s.Share) // the settings have been checked
	o := daemon.Options{
		Directory: directory, Share: share, Sampling: sampling, History: sampling.History(),
		Log: daemon.NewLog(p.Stderr, p.Getenv), Notify: daemon.NewNotifier(p.Getenv), Now: p.Now, Jobs: new(recording.Jobs).Observe,
		Answers: src.Options.Probes.Answers,
	}
	if s.Record {
		recordings := p.RecordingsOf(p.Flags.Demo)
		// A directory that cannot be written now can be writable later.
		o.Recorder = recording.Start(recordings, recording.Options{Keep: s.Keep, MaxSize: int64(s.MaxSize), FullCommands: s.Commands == "full"})
		o.Recording = recordings
		before := longPast(recordings, p.Now)
		o.Past = recording.Whole(o.History, before)
		o.Warm = func() {
			if past := before(); past != nil {
				sampling.Warm(past)
			}
		}
	}
	if len(s.AlertCommand) > 0 {
		o.Alerts = daemon.NewAlerts(s.AlertCommand, p.Now(), o.Log)
	}
	return o
}

// keepLeases makes the ledger of leases of a daemon; nil for a simulated box, or if the old ledger cannot be read.
func keepLeases(src *sources.Set, s *config.Settings, sampling *sampler.Sampler, o *daemon.Options) *leasing.Keeper {
	if o.Processes = src.Table; src.Table == nil {
		return nil
	}
	keeper, err := leasing.Open(leasing.Options{
		Directory: o.Directory, Reserve: s.LeaseReserve, Importance: s.Guard.OfClaims(), Table: src.Table, Now: o.Now, Note: sampling.Note, Log: o.Log,
	})
	if err != nil {
		o.Log.Error("no leases are given: the file with those before cannot be read", "error", err)
		return nil
	}
	o.Leases = keeper
	return keeper
}

// longPast returns a function that returns the recordings of this daemon and of earlier ones, nil if
// there are none yet. Clients that ask for the past wait for the disk; the sampler does not.
func longPast(directory string, now func() time.Time) func() snapshot.History {
	var mu sync.Mutex
	var opened *recording.Recording // nil until there is something to read
	var retryAt time.Time
	return func() snapshot.History {
		mu.Lock()
		defer mu.Unlock()
		if now := now(); opened == nil && !now.Before(retryAt) {
			opened, _ = recording.Open(directory) // the recorder reports an error
			retryAt = now.Add(time.Minute)
		}
		if opened == nil {
			return nil
		}
		return opened
	}
}

func servingOf(s *config.Settings) *exporter.Serving {
	return &exporter.Serving{Address: s.Serve, WebConfig: s.WebConfig, Openly: s.ServeOpenly}
}

// checkExporter returns why the exporter cannot be served with these settings.
func checkExporter(s *config.Settings) error {
	if s.Serve == "" {
		return nil
	}
	if err := servingOf(s).Check(); err != nil {
		return command.Usage("--serve: %v", err)
	}
	return nil
}

// checkReload returns why a running daemon cannot take over new settings: the exporter's new address
// is in use, for example. served is its present address, "" for none.
func checkReload(s *config.Settings, served string) error {
	if err := checkExporter(s); err != nil || s.Serve == "" || s.Serve == served {
		return err
	}
	if err := servingOf(s).CheckFree(); err != nil {
		return fmt.Errorf("exporter.address: %w", err)
	}
	return nil
}

// serveExporter adds the exporter, if the settings have one, to a daemon.
func serveExporter(p *command.Program, s *config.Settings, o *daemon.Options) error {
	if s.Serve == "" {
		return nil
	}
	collector := exporter.New(exporter.Options{
		Version: command.VersionNumber(), Now: p.Now, ProcessLabels: s.ProcessLabels, Processes: s.Processes, Snapshot: s.ServeSnapshot,
	})
	server, err := exporter.Listen(collector, *servingOf(s), o.Log)
	if err != nil {
		hint := ""
		if os.IsPermission(err) {
			hint = "; a port below 1024 is root's"
		}
		return command.Fail("--serve: %w%s", err, hint)
	}
	o.Exporter = server
	return nil
}
