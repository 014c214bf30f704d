package past

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/gather"
	"vramscope/cli/render"
	"vramscope/cli/sources"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	evaluation "vramscope/recording/report"
	"vramscope/recording/report/page"
	"vramscope/schema"
)

type reportFlags struct {
	since, from, to string
	by, format      string
	compare         string
}

func Report(p *command.Program) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:         "report [FILE|DIR]",
		Annotations: map[string]string{command.Takes: "ascii config demo"},
		Short:       "evaluate a recording: utilization, out of memory, waste",
		Long: `Evaluates what vramscope daemon --record has recorded: for each GPU the memory
that was used, allocated, cached, fragmented and free over time, utilization,
and how long used memory was idle; out-of-memory errors and alloc retries; what
flushes freed, and how much stayed free; how often the forecaster's alerts came
true; steps per second where they are counted; and who wastes most. Time without
samples is not counted. Without FILE or DIR it reads your own recordings, with
--demo those of the simulated box.

--since counts back from the end of the recording. Times are local: 03:12 (the
last one), '2026-11-21 03:12', or RFC 3339.

--compare A..B C..D evaluates C..D, and sets it beside A..B: before and after a
change. It says which differences are beyond the noise of the hours.

--format csv has who used what, with --by user for instance. --format html is
one file without scripts. docs/report.md has the rules.`,
		Example: `  vramscope report
  vramscope report --since 7d --by user
  vramscope report --from 03:00 --to 04:30 --format markdown
  vramscope report --since 7d --format html > report.html
  vramscope report --compare '2026-11-18..2026-11-19' '2026-11-19..2026-11-20'`,
		ValidArgsFunction: cobra.FixedCompletions([]string{"db"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE:              func(_ *cobra.Command, args []string) error { return runReport(p, args, f) },
	}
	flags := cmd.Flags()
	flags.Var(command.Span(&f.since), "since", "the last so long (24h)")
	command.FromTo(cmd, &f.from, &f.to)
	flags.Var(command.Checked(&f.compare, func(s string) error { _, err := endsOf(s, time.Time{}); return err }), "compare", "compare with this period; an argument is the other")
	command.ChoiceFlag(cmd, &f.by, "by", "", evaluation.Groupings...)
	command.ChoiceFlag(cmd, &f.format, "format", "f", "text", "markdown", "json", "html", "csv")
	command.NameValues(cmd, map[string]string{"since": "DURATION", "compare": "A..B"})
	return cmd
}

func runReport(p *command.Program, args []string, f reportFlags) error {
	s, err := p.Settings()
	if err != nil {
		return err
	}
	second := ""
	if f.compare != "" {
		if f.since != "" || f.from != "" || f.to != "" {
			return command.Usage("--compare names both periods: leave out --since, --from and --to")
		}
		at := slices.IndexFunc(args, isPeriod)
		if at < 0 {
			return command.Usage("--compare takes two periods").Then("  vramscope report --compare 03:00..06:00 09:00..12:00")
		}
		second, args = args[at], slices.Delete(slices.Clone(args), at, at+1)
		if _, err := endsOf(second, p.Now()); err != nil {
			return command.Usage("--compare: %v", err)
		}
	}
	if len(args) > 1 {
		return command.Usage("report takes one FILE or DIR, not %d", len(args))
	}
	r, err := sources.OpenRecording(p, args...)
	if err != nil {
		return err
	}
	defer r.Close()
	shown, before, err := f.periods(r, second)
	if err != nil {
		return err
	}
	b, err := evaluate(p, r, shown, f.by)
	if err != nil {
		return err
	}
	document := b.Report(p.Now())
	if before != nil {
		first, err := evaluate(p, r, *before, f.by)
		if err != nil {
			return err
		}
		document.Comparison = b.Compare(first)
	}
	return writeReport(p, &document, f.format, render.SignsFor(p.ASCII(&s)))
}

// periods returns the period to show and, with --compare, the period to compare it with.
func (f *reportFlags) periods(r *sources.Recording, second string) (shown period, before *period, err error) {
	oldest, last := r.Span()
	if last.IsZero() {
		return shown, nil, command.Fail("%s: nothing is recorded in it yet", text.Clean(r.Where)).Then("  vramscope daemon --record   records")
	}
	newest := wholeMinute(last.Local())
	if f.compare != "" {
		before = new(period)
		if *before, err = parsePeriod(f.compare, newest); err != nil {
			return shown, nil, command.Usage("--compare: %v", err)
		}
		if shown, err = parsePeriod(second, newest); err != nil {
			return shown, nil, command.Usage("--compare: %v", err)
		}
	} else if shown, err = f.period(oldest.Local(), newest); err != nil {
		return shown, nil, err
	}
	for _, q := range []*period{&shown, before} {
		if q != nil && (!q.from.Before(newest) || !q.to.After(oldest)) {
			return shown, nil, command.Fail("nothing is recorded from %s to %s", q.from.Format(time.DateTime), q.to.Format(time.DateTime)).
				Then(fmt.Sprintf("  %s has %s to %s", text.Clean(r.Where), oldest.Local().Format(time.DateTime), last.Local().Format(time.DateTime)))
		}
	}
	return shown, before, nil
}

// period returns the period of --since, --from and --to: without them the last day, or the whole
// recording if it is shorter.
func (f *reportFlags) period(oldest, newest time.Time) (p period, err error) {
	if f.since != "" && f.from != "" {
		return p, command.Usage("--since and --from both say where to begin: leave one out")
	}
	p.to = newest
	if f.to != "" {
		if p.to, err = quantity.ParseMoment(f.to, newest); err != nil {
			return p, command.Usage("--to: %v", err)
		}
	}
	if f.from != "" {
		if p.from, err = quantity.ParseMoment(f.from, p.to); err != nil {
			return p, command.Usage("--from: %v", err)
		}
	} else {
		length, err := command.ParseSpan(cmp.Or(f.since, "24h"))
		if err != nil {
			return p, command.Usage("--since: %v", err)
		}
		p.from = p.to.Add(-length)
		if f.since == "" && p.from.Before(oldest) && oldest.Before(p.to) {
			p.from = oldest.Truncate(5 * time.Minute) // processes are summed over five minutes
		}
	}
	if err := p.check(); err != nil {
		return p, command.Usage("%v", err)
	}
	return p, nil
}

// evaluate sums a period. A period without samples is an error.
func evaluate(p *command.Program, r *sources.Recording, over period, by string) (*evaluation.Builder, error) {
	oldest, newest := r.Span()
	q := evaluation.Question{From: over.from.Truncate(time.Minute), To: wholeMinute(over.to), Oldest: oldest, Newest: newest, By: by} // sums are of whole minutes
	b, err := gather.Report(r.Recording, q, p.AuditLog(nil))
	if err != nil {
		return nil, command.Failed(err).Then("  what can be read of a damaged file is in docs/recording.md")
	}
	if b.Empty() && newest.Equal(oldest) {
		return nil, command.Fail("%s has one sample so far: there is nothing to sum", text.Clean(r.Where)).Then("  try again in a few seconds")
	}
	if b.Empty() {
		return nil, command.Fail("nothing is recorded from %s to %s: the recording has a gap there", over.from.Format(time.DateTime), over.to.Format(time.DateTime)).
			Then("  vramscope report --since 30d " + text.Clean(r.Where) + "   shows when there are samples")
	}
	return b, nil
}

// wholeMinute returns the end of the minute that a moment is in.
func wholeMinute(t time.Time) time.Time { return t.Add(time.Minute - 1).Truncate(time.Minute) }

func writeReport(p *command.Program, r *schema.Report, format string, signs render.Signs) error {
	switch format {
	case "html":
		return p.Print([]byte(page.Write(r)))
	case "markdown":
		return p.Print([]byte(render.ReportMarkdown(r)))
	case "csv":
		return p.Print([]byte(render.ReportCSV(r)))
	}
	return p.PrintAs(format, r, render.Report(r, signs, p.OutputWidth()))
}

type period struct{ from, to time.Time }

// parsePeriod parses "A..B", of at least a minute.
func parsePeriod(s string, newest time.Time) (p period, err error) {
	if p, err = endsOf(s, newest); err != nil {
		return p, err
	}
	return p, p.check()
}

// endsOf parses both times of "A..B".
func endsOf(s string, newest time.Time) (p period, err error) {
	a, b, ok := strings.Cut(s, "..")
	if !ok {
		return p, fmt.Errorf("%q is no period: write FROM..TO, as 03:00..04:30", text.Clean(s))
	}
	if p.to, err = quantity.ParseMoment(b, newest); err != nil {
		return p, err
	}
	// A time of day means the last one before the period's end.
	p.from, err = quantity.ParseMoment(a, p.to)
	return p, err
}

// isPeriod reports whether an argument is "A..B", and not a path such as "../recordings".
func isPeriod(s string) bool {
	a, b, ok := strings.Cut(s, "..")
	if !ok || a == "" || b == "" {
		return false
	}
	_, err := os.Stat(s)
	return err != nil
}

func (p *period) check() error {
	if p.to.Sub(p.from) < time.Minute {
		return fmt.Errorf("a period from %s to %s is shorter than a minute", p.from.Format(time.DateTime), p.to.Format(time.DateTime))
	}
	return nil
}
