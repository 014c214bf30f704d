package present

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/doctor"
	"vramscope/cli/launch"
	"vramscope/cli/sources"
	"vramscope/probe/preload"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
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
	if err := p.Print([]byte(strings.Join(DoctorReport(src, snap, refused), "\n") + "\n")); err != nil {
		return err
	}
	// The report has said it all; what is left is the exit code.
	if err := cmp.Or(refused, src.Unusable(snap)); err != nil {
		return &command.Silent{Code: command.ExitCode(err)}
	}
	return nil
}

// DoctorReport is doctor's lines about a box at the moment of a snapshot.
func DoctorReport(src *sources.Set, snap *snapshot.Snapshot, refused error) []string {
	p, s := src.Program, src.Settings
	box := doctor.Box{
		Version: command.VersionLine(), Snapshot: snap, Unusable: src.Unusable(snap), Library: s.Library,
		Table: src.Table, Log: src.Log, ConfigPath: p.ConfigPath(), ConfigErr: refused,
		Terminal: command.IsTerminal(p.Stdout), Screen: p.HasScreen(), Output: p.Stdout, Getenv: p.Getenv,
	}
	box.Driver, box.Devices = src.Driver.Opened()
	cache, err := launch.Cache(p.Getenv)
	if err == nil {
		err = preload.Usable(cache)
	}
	box.CacheErr = err
	if src.Library != nil {
		box.Missing = src.Library.Capabilities()
	}
	if src.Table != nil {
		box.Attacher, box.Problems = sources.WaysInto(src.Table), src.Probes.Problems()
	}
	if src.Daemon != nil {
		client, err := src.Daemon.Client()
		if box.NoDaemon = err; client != nil {
			status := client.Status()
			box.Daemon, box.Guard = &status, src.Daemon.Guard()
		}
	}
	lines := doctor.Report(&box)
	if p.ASCII(s) {
		for i, line := range lines {
			lines[i] = strings.NewReplacer("×", "x", "–", "-", "…", "...").Replace(line)
		}
	}
	return lines
}
