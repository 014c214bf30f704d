package present

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/render"
	"vramscope/cli/sources"
	"vramscope/internal/text"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

type onceFlags struct {
	format string
	line   bool
	watch  time.Duration
	at     string // a moment of a recording

	recording []string // FILE or DIR; empty: this user's recordings
}

func Once(p *command.Program) *cobra.Command {
	var f onceFlags
	cmd := &cobra.Command{
		Use:         "once [--at TIME [FILE|DIR]]",
		Annotations: command.WithoutScreen,
		Short:       "one snapshot: a table, JSON, CSV or one line",
		Long: `Writes one snapshot of every GPU and every process on it, and ends.

In a terminal the table is cut to its width and has the columns that fit; piped
or redirected it has them all. No cell but the last contains a blank, so that
awk can count columns. JSON and CSV have exact bytes; their fields are
documented in docs/json.md.

One sample does not show where memory is heading. With --watch it observes for a
while first, so that forecasts, rates and alerts are in the snapshot.`,
		Example: `  vramscope once
  vramscope once | awk '$1 == 3'
  vramscope once --format json | jq '.gpus[] | {index, used: .memory.used_bytes}'
  vramscope once --line             for a status bar
  vramscope once --watch 60s        with forecasts
  vramscope once --at 03:12         what was there then, from a recording`,
		Args: command.AtMostOne("FILE or DIR"),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if cmd.Flags().Changed("at") {
				return []cobra.Completion{"db"}, cobra.ShellCompDirectiveFilterFileExt
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && f.at == "" {
				return command.Usage("once takes FILE or DIR with --at alone: %q", text.Clean(args[0]))
			}
			f.recording = args
			if f.line && cmd.Flags().Changed("format") {
				return command.Usage("--line or --format, not both")
			}
			if f.watch > 0 && f.at != "" {
				return command.Usage("--watch or --at, not both")
			}
			return runOnce(cmd.Context(), p, f)
		},
	}
	command.ChoiceFlag(cmd, &f.format, "format", "f", "table", "json", "csv")
	cmd.Flags().BoolVar(&f.line, "line", false, "one line, for a status bar")
	cmd.Flags().Var(command.Duration(&f.watch, time.Second, time.Hour), "watch", "observe for this long first, 1s to 1h")
	cmd.Flags().Var(command.Moment(&f.at), "at", "a moment of FILE or DIR, or your own recordings: 03:12 or '2026-11-21 03:12'")
	command.NameValues(cmd, map[string]string{"watch": "DURATION", "at": "TIME"})
	return cmd
}

func recordedMoment(p *command.Program, at string, args []string) (*snapshot.Snapshot, error) {
	r, err := sources.OpenRecording(p, args...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := r.Moment("at", at)
	if err != nil {
		return nil, err
	}
	then, ok := r.At(t)
	if !ok {
		return nil, command.Fail("nothing is recorded of %s", text.Clean(at))
	}
	return then, nil
}

// Table writes a snapshot as once without flags does.
func Table(ctx context.Context, p *command.Program) error {
	return runOnce(ctx, p, onceFlags{format: "table"})
}

// runOnce writes a snapshot. JSON, which has the driver's state, is written even if the driver or its
// GPUs cannot be used.
func runOnce(ctx context.Context, p *command.Program, f onceFlags) error {
	s, err := p.Settings()
	if err != nil {
		return err
	}
	if f.at != "" {
		then, err := recordedMoment(p, f.at, f.recording)
		if err != nil {
			return err
		}
		text, err := format(p, then, &s, f)
		return cmp.Or(err, p.Print(text))
	}
	src := sources.OpenWith(p, &s, 0)
	src.LookOnce()
	if src.Library != nil && (f.format == "json" || f.format == "csv") {
		src.Library.Complete() // waits for figures that a table does not print
	}
	src.Options.Single = f.watch == 0
	if src.Library != nil && f.line && src.Options.Single {
		src.Library.WithoutProcesses() // the line shows no process, and without a past there is no forecast
	}
	src.WatchGuard()
	snap, err := src.Observe(ctx, sampler.New(src.Options), f.watch)
	if snap == nil || err != nil && (f.format != "json" || command.ExitCode(err) == command.ExitUsage) {
		return err
	}
	text, failed := format(p, snap, &s, f)
	if failed == nil {
		failed = p.Print(text)
	}
	return cmp.Or(failed, err)
}

func format(p *command.Program, snap *snapshot.Snapshot, s *config.Settings, f onceFlags) ([]byte, error) {
	switch ascii := p.ASCII(s); {
	case f.line:
		return []byte(render.StatusLine(snap, ascii)), nil
	case f.format == "json":
		return schema.Encode(schema.Of(snap))
	case f.format == "csv":
		return []byte(render.CSV(snap)), nil
	default:
		return []byte(render.Table(snap, p.OutputWidth(), ascii)), nil
	}
}

func Stream(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:         "stream",
		Annotations: map[string]string{command.Takes: "config demo gpu interval nvml-library seed"},
		Short:       "JSON lines: one snapshot a sample, until it is ended",
		Long: `Writes a line of JSON for each sample, until standard output is closed or
SIGTERM or Ctrl-C ends it. A line is the document of once --format json,
without line ends in it; docs/json.md has its fields.

vramscope fleet --ssh runs it on each box.`,
		Example: `  vramscope stream | jq -c '.gpus[] | {index, used: .memory.used_bytes}'
  vramscope stream --interval 5s >> samples.jsonl
  ssh h100-03 vramscope stream`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runStream(cmd.Context(), p) },
	}
}

// runStream writes snapshots as lines of JSON, also the one whose driver state ends the stream. On a
// usage error it writes nothing.
func runStream(ctx context.Context, p *command.Program) error {
	defer p.StayLight()()
	src, err := sources.Open(p, sources.DemoPast)
	if err != nil {
		return err
	}
	src.Options.OpenDeadline = sources.OnceOpening
	src.Details(true) // as in the document of once
	src.WatchGuard()
	sampling := sampler.New(src.Options)
	src.CatchUp(sampling, src.Options.Interval)
	ctx, restore := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer restore()
	ctx, end := src.ListenFor(ctx)
	defer end()
	finished := make(chan error, 1)
	go func() { finished <- sampling.Run(ctx) }()
	for first := true; ; {
		select {
		case <-sampling.Updates():
			snap := sampling.Latest()
			var unusable error
			if first && snap.Driver.State != snapshot.DriverStarting {
				first = false
				if unusable = src.Unusable(snap); command.ExitCode(unusable) == command.ExitUsage {
					return unusable
				}
			}
			written := make(chan error, 1)
			go func() { written <- printLine(p, snap) }()
			select {
			case err := <-written:
				if err != nil {
					return err
				}
			case <-ctx.Done():
				return nil // a reader that no longer reads does not delay the end
			}
			if unusable != nil {
				return unusable
			}
		case err := <-finished:
			return err
		case <-ctx.Done():
			return nil // after a signal, a driver call that hangs does not delay the end
		}
	}
}

// printLine writes a snapshot as one line of JSON.
func printLine(p *command.Program, snap *snapshot.Snapshot) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(schema.Of(snap)); err != nil {
		return fmt.Errorf("encode JSON: %w", err)
	}
	return p.Print(text.EscapeJSON(line.Bytes()))
}
