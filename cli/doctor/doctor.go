package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/launch"
	"vramscope/cli/sources"
	"vramscope/internal/text"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/probe/preload"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// Box is the examined box at the moment of a snapshot.
type Box struct {
	*sources.Set
	Snapshot *snapshot.Snapshot
	Unusable error           // the error with which the monitor would end; nil if it would work
	Loaded   nvml.Driver     // the library and the driver
	Devices  []nvml.Device   // all devices, even if only some are sampled
	Problems []probe.Problem // probes, and directories of probes, that cannot be read
	CacheErr error           // why the native probe cannot be installed
}

type verdict string

const (
	works   verdict = "ok"
	fails   verdict = "no"
	neither verdict = "--"
)

// finding is one line of the report, with the advice below the line.
type finding struct {
	verdict verdict
	what    string
	text    string
	next    []string
}

type section struct {
	title    string
	findings []finding
}

// Report returns the lines of the report on a box at the moment of a snapshot. refused is the error of
// the configuration, if any.
func Report(src *sources.Set, snap *snapshot.Snapshot, refused error) []string {
	b := Box{Set: src, Snapshot: snap, Unusable: src.Unusable(snap)}
	b.Loaded, b.Devices = src.Driver.Opened()
	if src.Probes != nil {
		b.Problems = src.Probes.Problems()
	}
	cache, err := launch.Cache(src.Program.Getenv)
	if err == nil {
		err = preload.Usable(cache)
	}
	b.CacheErr = err
	title := fmt.Sprintf("vramscope %s on %s", command.VersionLine(), oneWord(cmp.Or(snap.Host.Name, "?")))
	if snap.Simulated {
		title += "  SIMULATED"
	}
	report := append([]string{title}, lines([]section{
		{"driver", b.driver()},
		{"GPUs", b.gpus()},
		{"processes", b.processes()},
		{"probes", b.probes()},
		{"daemon", b.daemon()},
		{"terminal", b.terminal()},
		{"configuration", b.configuration(refused)},
	})...)
	if src.Program.ASCII(src.Settings) {
		for i, line := range report {
			report[i] = strings.NewReplacer("×", "x", "–", "-", "…", "...").Replace(line)
		}
	}
	return report
}

// lines aligns the findings: verdict, what and text, and below the text the advice.
func lines(sections []section) []string {
	width := 0
	for _, s := range sections {
		for _, f := range s.findings {
			width = max(width, text.Width(f.what))
		}
	}
	var out []string
	for _, s := range sections {
		if len(s.findings) == 0 {
			continue
		}
		out = append(out, "", s.title)
		for _, f := range s.findings {
			out = append(out, fmt.Sprintf("  %s  %s  %s", f.verdict, text.Pad(f.what, width), f.text))
			for _, next := range f.next {
				out = append(out, strings.Repeat(" ", width+8)+next)
			}
		}
	}
	return out
}

func (b *Box) configuration(refused error) []finding {
	if refused != nil {
		return []finding{failed(refused, "settings")}
	}
	path := b.Program.ConfigPath()
	if _, err := os.Stat(path); err != nil {
		return []finding{{verdict: neither, what: "file", text: text.Clean(path) + " is not there: defaults"}}
	}
	return []finding{{verdict: works, what: "file", text: text.Clean(path)}}
}

// failed returns an error as a finding, with the advice of a Failure.
func failed(err error, what string) finding {
	f := finding{verdict: fails, what: what, text: text.Clean(err.Error())}
	if worded, ok := errors.AsType[*command.Failure](err); ok {
		f.next = trimmed(worded.Next)
	}
	return f
}

// trimmed returns advice without indentation, blank lines, exit codes and the pointer to doctor.
func trimmed(advice []string) []string {
	var lines []string
	for _, line := range advice {
		line = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "(exit 9)"))
		if line != "" && !strings.HasPrefix(line, "not sure") {
			lines = append(lines, line)
		}
	}
	return lines
}

func oneWord(s string) string { return strings.ReplaceAll(text.Clean(s), " ", "_") }

func parenthesis(s string) string {
	if s == "" {
		return ""
	}
	return " (" + text.Clean(s) + ")"
}

func Command(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:         "doctor",
		Annotations: command.WithoutScreen,
		Short:       "what works on this box, what does not, and why",
		Long: `Looks at everything that vramscope depends on (the driver, its GPUs, the
processes on them and their probes, the audit log, the terminal, the
configuration) and says of each whether it works, and if not, why and what to
do.

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
	src := sources.OpenWith(p, &s, 0)
	src.LookOnce()
	ctx, end := src.ListenFor(ctx)
	defer end()
	snap := src.Look(ctx, sampler.New(src.Options))
	if err := p.Print([]byte(strings.Join(Report(src, snap, refused), "\n") + "\n")); err != nil {
		return err
	}
	// The report has given the reason; only the exit code is missing.
	if err := cmp.Or(refused, src.Unusable(snap)); err != nil {
		return &command.Silent{Code: command.ExitCode(err)}
	}
	return nil
}
