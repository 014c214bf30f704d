package boxes

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

// Demo is a fleet of simulated boxes.
func Demo(p *command.Program) *cobra.Command {
	f := fleetFlags{simulated: true}
	cmd := &cobra.Command{
		Use:         "fleet",
		Annotations: map[string]string{command.Takes: "ascii config demo read-only theme"},
		Short:       "many boxes on one screen",
		Long: `Shows vramscope fleet with a dozen simulated boxes in this process. Without a
terminal it is one table, as of vramscope fleet once.`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runFleet(cmd.Context(), p, &f) },
	}
	f.addBoxes(cmd)
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
func simulatedBox(ctx context.Context, now func() time.Time, host string, take func(*snapshot.Snapshot)) error {
	const down, apart, step = 6, 2 * time.Minute, 10 * time.Second
	number := slices.Index(demoBoxes(), host)
	if number == down {
		return errors.New("simulated: no route to host")
	}
	src := &sources.Set{Options: sampler.Options{Interval: time.Second}}
	o := simulator.Options{Seed: uint64(number), GPUs: []int{8, 4, 8, 2}[number%4], Prelude: sources.DemoPast}
	if _, err := src.Simulate(o, sources.DemoPast+time.Duration(number)*apart, now); err != nil {
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
