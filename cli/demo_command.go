package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/sources"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// demoCommand is --demo as a command, with what else can be seen without a GPU below it.
func demoCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo [rescue|fleet]",
		Short: "a simulated box: the monitor, a rescue, a fleet",
		Long: `Shows what vramscope does, without a GPU. Everything in it is marked SIMULATED.

  vramscope demo           the monitor, as vramscope --demo
  vramscope demo rescue    a training that is short of memory, without a rescue and with one
  vramscope demo fleet     many boxes on one screen

Many commands take --demo: once, headroom, doctor, guard check and others.`,
		Example: `  vramscope demo
  vramscope demo rescue`,
		Args: command.NoArguments,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			p.Flags.Demo = true
			return p.CheckGlobalFlags(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return liveMonitor(cmd.Context(), p) },
	}
	cmd.AddCommand(&cobra.Command{
		Use:         "rescue",
		Annotations: map[string]string{command.Takes: "ascii config demo theme"},
		Short:       "a training that is short of memory, without a rescue and with one",
		Long: `Plays the same minute on two simulated boxes at once: a training starts beside a
notebook that is idle and caches 22 GiB. On one box it is out of memory; on the
other it runs under vramscope run --rescue, and the guard has the notebook free
its cache. Sampler, guard and allocators are the real ones, and so are all figures.`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return demoRescue(cmd.Context(), p) },
	})
	var f fleetFlags
	many := &cobra.Command{
		Use:         "fleet",
		Annotations: map[string]string{command.Takes: "ascii config demo read-only theme"},
		Short:       "many boxes on one screen",
		Long: `Shows vramscope fleet with a dozen simulated boxes in this process. Without a
terminal it is one table, as of vramscope fleet once.`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.simulated = func(ctx context.Context, host string, take func(*snapshot.Snapshot)) error {
				return simulatedBox(ctx, p, host, take)
			}
			return runFleet(cmd.Context(), p, &f)
		},
	}
	f.addBoxes(many)
	cmd.AddCommand(many)
	for _, below := range cmd.Commands() {
		below.Flags().BoolP("help", "h", false, "help for "+below.Name())
		below.ValidArgsFunction = cobra.NoFileCompletions
	}
	return cmd
}

// demoBoxes are the boxes of demo fleet.
func demoBoxes() []string {
	const count = 12
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("h100-%02d", i+1))
	}
	return names
}

// simulatedBox is a fleet.Stream of simulated boxes: each is at another place of its
// story, one does not answer.
func simulatedBox(ctx context.Context, p *command.Program, host string, take func(*snapshot.Snapshot)) error {
	const down, apart, step = 6, 2 * time.Minute, 10 * time.Second
	number := slices.Index(demoBoxes(), host)
	if number == down {
		return errors.New("simulated: no route to host")
	}
	src := &sources.Set{Options: sampler.Options{Interval: time.Second}}
	o := simulator.Options{Seed: uint64(number), GPUs: []int{8, 4, 8, 2}[number%4], Prelude: sources.DemoPast}
	if _, err := src.Simulate(o, sources.DemoPast+time.Duration(number)*apart, p.Now); err != nil {
		return err
	}
	sampling := sampler.New(src.Options)
	src.CatchUp(sampling, step)
	finished := make(chan error, 1)
	go func() { finished <- sampling.Run(ctx) }()
	for {
		select {
		case <-sampling.Updates():
			snap := *sampling.Latest()
			snap.Host.Name = host
			take(&snap)
		case err := <-finished:
			return cmp.Or(err, ctx.Err())
		}
	}
}
