package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"vramscope/internal/text"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// verdict is how a finding is.
type verdict string

const (
	works   verdict = "ok"
	fails   verdict = "no"
	neither verdict = "--" // nothing to judge, or a matter of taste
)

// finding is one line of doctor's report, and what to do about it.
type finding struct {
	verdict verdict
	what    string
	text    string
	next    []string
}

// section is findings under a title.
type section struct {
	title    string
	findings []finding
}

// doctor reports what works on this box.
func (p *program) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "what works on this box, what does not, and why",
		Long: `Looks at everything that vramscope depends on (the driver, its GPUs, the
processes on them and their probes, Python processes that could get one, the
terminal, the configuration) and says of each whether it works, and if not, why
and what to do.

The exit code is 0 if the monitor would work, otherwise the monitor's.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.examine(cmd.Context()) },
	}
}

// examine writes the report. A configuration that is refused is a finding,
// and the rest is examined with the defaults.
func (p *program) examine(ctx context.Context) error {
	s, refused := p.settings()
	if refused != nil {
		s = defaults()
	}
	src, err := p.sources(&s, 0)
	if err != nil {
		return err
	}
	src.lookOnce()
	defer src.listenFor(ctx)()
	snap := sampler.New(src.options).Tick(p.now())
	text := strings.Join(p.report(src, &s, snap, refused), "\n") + "\n"
	if err := p.print([]byte(text)); err != nil {
		return err
	}
	// The report has said it all; what is left is the exit code.
	if err := cmp.Or(refused, p.unusable(snap, src, &s)); err != nil {
		return &silent{code: exitCode(err)}
	}
	return nil
}

// report is what there is to say of a box at the moment of a snapshot, by
// lines.
func (p *program) report(src *sources, s *settings, snap *snapshot.Snapshot, refused error) []string {
	unusable := p.unusable(snap, src, s)
	look := examination{program: p, settings: s, sources: src, snap: snap, unusable: unusable, refused: refused}
	title := fmt.Sprintf("vramscope %s on %s", versionLine(), oneWord(cmp.Or(snap.Host.Name, "?")))
	if snap.Simulated {
		title += "  SIMULATED"
	}
	words := reportText(title, []section{
		{"driver", look.driver()},
		{"GPUs", look.gpus()},
		{"processes", look.processes()},
		{"probes", look.probes()},
		{"Python processes: could a probe be attached?", look.pythons()},
		{"terminal", look.terminal()},
		{"configuration", look.configuration()},
	})
	if s.ascii || !text.UTF8(p.getenv) {
		words = strings.NewReplacer("×", "x", "–", "-", "…", "...").Replace(words)
	}
	return strings.Split(strings.TrimRight(words, "\n"), "\n")
}

// examination is what the findings are drawn from.
type examination struct {
	program  *program
	settings *settings
	sources  *sources
	snap     *snapshot.Snapshot
	unusable error
	refused  error
}

// reportText aligns the findings: verdict, what, text, and below it what to
// do next.
func reportText(title string, sections []section) string {
	width := 0
	for _, s := range sections {
		for _, f := range s.findings {
			width = max(width, text.Width(f.what))
		}
	}
	var b strings.Builder
	b.WriteString(title + "\n")
	for _, s := range sections {
		if len(s.findings) == 0 {
			continue
		}
		b.WriteString("\n" + s.title + "\n")
		for _, f := range s.findings {
			fmt.Fprintf(&b, "  %s  %s%s  %s\n", f.verdict, f.what, strings.Repeat(" ", width-text.Width(f.what)), f.text)
			for _, next := range f.next {
				fmt.Fprintf(&b, "      %s  %s\n", strings.Repeat(" ", width), next)
			}
		}
	}
	return b.String()
}

// configuration is the file and what is in it.
func (e *examination) configuration() []finding {
	path := e.program.configPath()
	switch _, err := os.Stat(path); {
	case e.refused != nil:
		f := finding{verdict: fails, what: "settings", text: text.Clean(e.refused.Error())}
		var fail *failure
		if errors.As(e.refused, &fail) {
			f.next = trimmed(fail.advice)
		}
		return []finding{f}
	case err != nil:
		return []finding{{verdict: neither, what: "file", text: text.Clean(path) + " is not there: defaults"}}
	}
	return []finding{{verdict: works, what: "file", text: text.Clean(path)}}
}

// trimmed is advice without its indentation and blank lines.
func trimmed(advice []string) []string {
	var lines []string
	for _, line := range advice {
		line = strings.TrimSuffix(strings.TrimSpace(line), "(exit 9)")
		// To be told to ask doctor, by doctor, helps nobody.
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "not sure") {
			lines = append(lines, line)
		}
	}
	return lines
}
