package present

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/doctor"
	"vramscope/cli/sources"
	"vramscope/sampler"
)

// Doctor is the command doctor.
func Doctor(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:         "doctor",
		Annotations: command.WithoutScreen,
		Short:       "what works on this box, what does not, and why",
		Long: `Looks at everything that vramscope depends on (the driver, its GPUs, the
processes on them and their probes, Python processes that could get one, the
audit log, the terminal, the configuration) and says of each whether it works,
and if not, why and what to do.

The exit code is 0 if the monitor would work, otherwise the monitor's.`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return examine(cmd.Context(), p) },
	}
}

// examine writes the report, with the defaults if the configuration is refused.
func examine(ctx context.Context, p *command.Program) error {
	s, refused := p.Settings()
	if refused != nil {
		s = config.Defaults()
	}
	src, err := sources.OpenWith(p, &s, 0)
	if err != nil {
		return err
	}
	src.LookOnce()
	ctx, end := src.ListenFor(ctx)
	defer end()
	snap := src.Look(ctx, sampler.New(src.Options))
	if err := p.Print([]byte(strings.Join(doctor.Report(src, snap, refused), "\n") + "\n")); err != nil {
		return err
	}
	// The report has said it all; what is left is the exit code.
	if err := cmp.Or(refused, src.Unusable(snap)); err != nil {
		return &command.Silent{Code: command.ExitCode(err)}
	}
	return nil
}
