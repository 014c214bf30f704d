package trial

import (
	"github.com/spf13/cobra"

	"vramscope/cli/boxes"
	"vramscope/cli/command"
	"vramscope/cli/monitor"
)

// Demo is --demo as a command, with what else can be seen without a GPU below it.
func Demo(p *command.Program) *cobra.Command {
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
		RunE: func(cmd *cobra.Command, _ []string) error { return monitor.Run(cmd.Context(), p) },
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
	cmd.AddCommand(boxes.Demo(p))
	return cmd
}
