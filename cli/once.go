package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/config"
	"vramscope/cli/render"
	"vramscope/internal/text"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

type onceFlags struct {
	format string
	line   bool
	watch  time.Duration
	at     string // a moment of a recording

	recording []string // another than this user's
}

func (p *program) once() *cobra.Command {
	var f onceFlags
	var watch string
	cmd := &cobra.Command{
		Use:         "once [--at TIME [FILE|DIR]]",
		Annotations: withoutScreen,
		Short:       "one snapshot: a table, JSON, CSV or one line",
		Long: `Writes one snapshot of every GPU and every process on it, and ends.

In a terminal the table is cut to its width and has the columns that the
configuration names; piped or redirected it has them all. No cell but the last
contains a blank, so that awk can count columns. JSON and CSV
have exact bytes; their fields are documented in docs/json.md.

One sample does not show where memory is heading. With --watch it observes for a
while first, so that forecasts, rates and alerts are in the snapshot.`,
		Example: `  vramscope once
  vramscope once | awk '$1 == 3'
  vramscope once --format json | jq '.gpus[] | {index, used: .memory.used_bytes}'
  vramscope once --line             for a status bar
  vramscope once --watch 60s        with forecasts
  vramscope once --at 03:12         what was there then, from a recording`,
		Args: oneRecording,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if cmd.Flags().Changed("at") {
				return []cobra.Completion{"db"}, cobra.ShellCompDirectiveFilterFileExt
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && f.at == "" {
				return usage("once takes FILE or DIR with --at alone: %q", text.Clean(args[0]))
			}
			f.recording = args
			if f.line && cmd.Flags().Changed("format") {
				return usage("--line or --format, not both")
			}
			if watch != "" && f.at != "" {
				return usage("--watch or --at, not both")
			}
			if watch != "" {
				var err error
				if f.watch, err = config.Duration(watch, time.Second, time.Hour); err != nil {
					return usage("--watch: %v", err)
				}
			}
			return p.runOnce(cmd.Context(), f)
		},
	}
	choiceFlag(cmd, &f.format, "format", "f", "table", "json", "csv")
	cmd.Flags().BoolVar(&f.line, "line", false, "one line, for a status bar")
	cmd.Flags().StringVar(&watch, "watch", "", "observe for this long first, 1s to 1h")
	cmd.Flags().Var(aMoment(&f.at), "at", "a moment of FILE or DIR, or your own recordings: 03:12 or '2026-11-21 03:12'")
	nameValues(cmd, map[string]string{"watch": "DURATION", "at": "TIME"})
	return cmd
}

// recorded is the snapshot of a moment of a recording.
func (p *program) recorded(at string, args []string) (*snapshot.Snapshot, error) {
	r, where, err := p.openRecording(args)
	if err != nil {
		return nil, err
	}
	defer p.closeRecording(r)
	t, err := momentOf(r, where, "at", at)
	if err != nil {
		return nil, err
	}
	then, ok := r.At(t)
	if !ok {
		return nil, &failure{code: exitFailure, message: "nothing is recorded of " + text.Clean(at)}
	}
	return then, nil
}

// runOnce writes a snapshot: as JSON, with the driver's state, also where the driver or
// its GPUs cannot be used.
func (p *program) runOnce(ctx context.Context, f onceFlags) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	if f.at != "" {
		then, err := p.recorded(f.at, f.recording)
		if err != nil {
			return err
		}
		text, err := p.format(then, &s, f)
		return cmp.Or(err, p.print(text))
	}
	src, err := p.sources(&s, 0)
	if err != nil {
		return err
	}
	src.lookOnce()
	if src.library != nil && (f.format == "json" || f.format == "csv") {
		src.library.Complete() // a table prints less, and is not worth the wait
	}
	src.options.Single = f.watch == 0
	if src.library != nil && f.line && src.options.Single {
		src.library.WithoutProcesses() // the line has none, and without a past no forecast
	}
	src.watchGuard(&s)
	snap, err := p.observe(ctx, src, &s, sampler.New(src.options), f.watch)
	if snap == nil || err != nil && (f.format != "json" || exitCode(err) == exitUsage) {
		return err
	}
	text, failed := p.format(snap, &s, f)
	if failed == nil {
		failed = p.print(text)
	}
	return cmp.Or(failed, err)
}

func (p *program) format(snap *snapshot.Snapshot, s *config.Settings, f onceFlags) ([]byte, error) {
	var out bytes.Buffer
	ascii := s.ASCII || !text.UTF8(p.getenv)
	var err error
	switch {
	case f.line:
		err = render.StatusLine(&out, snap, ascii)
	case f.format == "json":
		err = render.JSON(&out, snap)
	case f.format == "csv":
		err = render.CSV(&out, snap)
	default:
		err = render.Table(&out, snap, p.outputWidth(), ascii, s.Columns...)
	}
	if err != nil {
		return nil, fmt.Errorf("once: %w", err)
	}
	return out.Bytes(), nil
}

// observe takes a snapshot after watching. It leaves the driver open: the program ends.
func (p *program) observe(ctx context.Context, src *sources, s *config.Settings, sampling *sampler.Sampler, watch time.Duration) (*snapshot.Snapshot, error) {
	if watch == 0 {
		ctx, end := src.listenFor(ctx)
		defer end()
		snap := src.look(ctx, sampling)
		return snap, p.unusable(snap, src, s)
	}
	return p.observeUntil(ctx, src, s, sampling, watch, func(*snapshot.Snapshot) bool { return false })
}

// observeUntil samples until a snapshot is enough, at most for so long, and returns the last one.
func (p *program) observeUntil(ctx context.Context, src *sources, s *config.Settings, sampling *sampler.Sampler, most time.Duration, enough func(*snapshot.Snapshot) bool) (*snapshot.Snapshot, error) {
	ctx, end := src.listenFor(ctx)
	defer end()
	finished := make(chan error, 1)
	go func() { finished <- sampling.Run(ctx) }()
	over := time.After(most)
	for first := true; ; first = false {
		select {
		case <-sampling.Updates():
			snap := sampling.Latest()
			if first {
				if err := p.unusable(snap, src, s); err != nil {
					return snap, err
				}
			}
			if enough(snap) {
				return snap, nil
			}
		case err := <-finished:
			return nil, err
		case <-over:
			return sampling.Latest(), nil
		}
	}
}
