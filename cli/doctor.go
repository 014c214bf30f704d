package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/cli/config"
	"vramscope/cli/doctor"
	"vramscope/cli/launch"
	"vramscope/internal/text"
	"vramscope/probe/preload"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

func (p *program) doctor() *cobra.Command {
	return &cobra.Command{
		Use:         "doctor",
		Annotations: withoutScreen,
		Short:       "what works on this box, what does not, and why",
		Long: `Looks at everything that vramscope depends on (the driver, its GPUs, the
processes on them and their probes, Python processes that could get one, the
audit log, the terminal, the configuration) and says of each whether it works,
and if not, why and what to do.

The exit code is 0 if the monitor would work, otherwise the monitor's.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.examine(cmd.Context()) },
	}
}

// examine writes the report, with the defaults if the configuration is refused.
func (p *program) examine(ctx context.Context) error {
	s, refused := p.settings()
	if refused != nil {
		s = config.Defaults()
	}
	src, err := p.sources(&s, 0)
	if err != nil {
		return err
	}
	src.lookOnce()
	ctx, end := src.listenFor(ctx)
	defer end()
	snap := src.look(ctx, sampler.New(src.options))
	if err := p.print([]byte(strings.Join(p.report(src, &s, snap, refused), "\n") + "\n")); err != nil {
		return err
	}
	// The report has said it all; what is left is the exit code.
	if err := cmp.Or(refused, p.unusable(snap, src, &s)); err != nil {
		return &silent{code: exitCode(err)}
	}
	return nil
}

// report is doctor's lines about a box at the moment of a snapshot.
func (p *program) report(src *sources, s *config.Settings, snap *snapshot.Snapshot, refused error) []string {
	box := doctor.Box{
		Version: versionLine(), Snapshot: snap, Unusable: p.unusable(snap, src, s), Library: s.Library,
		Table: src.table, Log: src.log, ConfigPath: p.configPath(), ConfigErr: refused,
		Terminal: isTerminal(p.stdout), Screen: p.hasScreen(), Output: p.stdout, Getenv: p.getenv,
	}
	box.Driver, box.Devices = src.driver.opened()
	cache, err := launch.Cache(p.getenv)
	if err == nil {
		err = preload.Usable(cache)
	}
	box.CacheErr = err
	if src.library != nil {
		box.Missing = src.library.Capabilities()
	}
	if src.table != nil {
		box.Attacher, box.Problems, box.Answers = waysInto(src.table), src.probes.Problems(), src.probes.Answers()
	}
	if src.daemon != nil {
		client, err := src.daemon.Client()
		if box.NoDaemon = err; client != nil {
			status := client.Status()
			box.Daemon, box.Guard = &status, src.daemon.Guard()
		}
	}
	lines := doctor.Report(&box)
	if s.ASCII || !text.UTF8(p.getenv) {
		for i, line := range lines {
			lines[i] = strings.NewReplacer("×", "x", "–", "-", "…", "...").Replace(line)
		}
	}
	return lines
}
