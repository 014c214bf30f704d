package present

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/sources"
	"vramscope/internal/text"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Stream is the command stream.
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

// runStream writes the driver's state as a line, too, where that ends it; nothing on a
// usage error.
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
				return nil // a reader that stands still must not delay that, either
			}
			if unusable != nil {
				return unusable
			}
		case err := <-finished:
			return err
		case <-ctx.Done():
			return nil // it was ended; a call that hangs in the driver must not delay that
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
