package actions

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/render"
	"vramscope/cli/sources"
	"vramscope/probe"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// Holds is the command holds.
func Holds(p *command.Program) *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:         "holds PID",
		Annotations: command.WithoutScreen,
		Short:       "what holds a PyTorch process's memory, by class",
		Long: `Asks the probe in a process what holds the memory that PyTorch has allocated:
parameters, gradients, optimizer state, buffers, activations, variables,
workspaces, and what it cannot name. Every block counts once, so that the
classes sum to what is allocated.

Activations are what no object holds that the probe knows, and what is gone
by the end of the step: it waits for that, 15 seconds at most. Without an
optimizer that steps they are not told apart. The program goes on meanwhile.
docs/python.md says what the probe finds, and what that costs.`,
		Example: `  vramscope holds 2963112
  vramscope holds 2963112 --format json | jq '.holds.devices[].classes[]'`,
		Args: command.OnePID("  vramscope once     lists them"),
		RunE: command.WithPID(func(ctx context.Context, pid int) error { return runHolds(ctx, p, pid, format) }),
	}
	command.ChoiceFlag(cmd, &format, "format", "f", "table", "json")
	return cmd
}

func runHolds(ctx context.Context, p *command.Program, pid int, format string) error {
	src, err := sources.Open(p, 0)
	if err != nil {
		return err
	}
	if len(src.Options.Only) > 0 {
		return command.Usage("--gpu: holds covers all GPUs that the process uses: leave it out")
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if src.Table == nil {
		err = &probe.Error{Code: probe.Unsupported, Message: "a simulated process has no tensors: what holds its memory is not simulated"}
		return probeFailure(err, pid, "say what holds its memory")
	}
	src.LookOnce()
	found, err := src.Holds(ctx, pid, func() *snapshot.Snapshot {
		listening, end := src.ListenFor(ctx)
		defer end()
		return src.Look(listening, sampler.New(src.Options))
	})
	if err != nil && ctx.Err() != nil {
		return &command.Failure{Code: command.ExitFailure, Err: ctx.Err(), Message: "interrupted"}
	}
	if err != nil {
		return probeFailure(err, pid, "say what holds its memory")
	}
	doc, text := render.Holds(pid, found.Runtime.Name, &found.Holds, found.Snapshot, found.Used, render.SignsFor(p.ASCII(src.Settings)))
	return p.PrintAs(format, doc, text)
}
