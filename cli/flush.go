package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"vramscope/internal/process"
	"vramscope/probe"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// flushFlags are what flush takes.
type flushFlags struct {
	level  string
	dryRun bool
	yes    bool
	format string
}

// flush has one process give cached memory back.
func (p *program) flush() *cobra.Command {
	f := flushFlags{}
	cmd := &cobra.Command{
		Use:   "flush PID",
		Short: "have a process give cached memory back to its GPU",
		Long: `Asks the probe in a process to give memory back that its allocators hold and
do not use, and says what came of it: by the probe, and by the driver's own
figure before and after. The process goes on; its next allocations go to the
driver, which takes a moment.

  gradual     what is cached; in steps, where the allocator can give parts
  selective   and the caches that the program has registered to be evicted
  urgent      and whatever else can be collected, on all its GPUs

It asks before it does anything, unless --yes says that it need not. Ctrl-C
ends a gradual flush after the step that it is at.

The exit code is 0 where memory was given back, or there was none to give; 1
where there was some and it was not; 3 where nothing was asked of the process:
it has no probe, is another user's, has ended, refuses, or you said no.`,
		Example: `  vramscope flush 2963112 --dry-run
  vramscope flush 2963112 --level gradual --yes
  vramscope flush 2963112 --yes --format json | jq .flush.freed_bytes`,
		Args: onePID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(levels(), f.level) {
				return usage("--level: %q is none of %s", cleanText(f.level), strings.Join(levels(), ", "))
			}
			if f.format != "text" && f.format != "json" {
				return usage("--format: %q is none of text and json", cleanText(f.format))
			}
			pid, err := parsePID(args[0])
			if err != nil {
				return err
			}
			return p.runFlush(cmd.Context(), pid, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.level, "level", levels()[0], "gradual, selective or urgent")
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, "find out what would happen, and do nothing")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	flags.StringVarP(&f.format, "format", "f", "text", "text or json")
	for name, word := range map[string]string{"level": "LEVEL", "format": "FORMAT"} {
		flags.Lookup(name).Value = &holder{flags.Lookup(name).Value, word}
	}
	for name, values := range map[string][]string{"level": levels(), "format": {"text", "json"}} {
		complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err) // the flag is registered above
		}
	}
	return cmd
}

// levels are the words for how much a flush may cost.
func levels() []string {
	return []string{string(probe.Gradual), string(probe.Selective), string(probe.Urgent)}
}

// onePID refuses all but one argument.
func onePID(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return &failure{code: exitUsage, message: "flush needs the PID of a process",
			advice: []string{"  vramscope once     lists them, with what each would give back in FLUSH"}}
	case len(args) > 1:
		return usage("flush takes one PID, not %d: one process at a time", len(args))
	}
	return nil
}

func parsePID(text string) (int, error) {
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 {
		return 0, usage("%q is no PID", cleanText(text))
	}
	return pid, nil
}

// refused is the failure of a flush that nobody was asked for.
func refused(err error, format string, args ...any) *failure {
	return &failure{code: exitRefused, err: err, message: "refused: " + strings.TrimPrefix(fmt.Sprintf(format, args...), "refused: ")}
}

// runFlush looks, asks, flushes, looks again, and writes what came of it.
func (p *program) runFlush(ctx context.Context, pid int, f flushFlags) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	if s.readOnly {
		return usage("read-only is set, and a flush changes something: leave out --read-only, or read_only in the configuration")
	}
	if !f.dryRun && !f.yes && !p.canAsk() {
		return &failure{code: exitUsage, message: "there is no terminal to ask on",
			advice: []string{
				fmt.Sprintf("  vramscope flush %d --dry-run   says what would happen", pid),
				fmt.Sprintf("  vramscope flush %d --yes       does it without asking", pid),
			}}
	}
	src, err := p.sources(&s, 0)
	if err != nil {
		return err
	}
	src.lookOnce()
	listening, cancel := context.WithCancelCause(ctx)
	unheard := src.listen(listening, cancel)
	defer func() {
		cancel(nil)
		unheard()
	}()
	sampling := sampler.New(src.options)
	look := func(context.Context) *snapshot.Snapshot { return sampling.Tick(src.options.Clock()) }
	return p.flushProcess(ctx, src, &s, look, pid, f)
}

func (p *program) flushProcess(ctx context.Context, src *sources, s *settings,
	look func(context.Context) *snapshot.Snapshot, pid int, f flushFlags) error {
	before := look(ctx)
	target, err := p.flushTarget(before, src, s, pid)
	if err != nil {
		return err
	}
	wish := flushWish{level: probe.Level(f.level), dryRun: f.dryRun}
	if len(s.gpus) > 0 {
		for _, row := range rowsOf(before, target.ID.Process, nil) {
			wish.devices = append(wish.devices, deviceOf(before, row))
		}
	}
	if !f.dryRun && !f.yes {
		if err := p.confirm(flushQuestion(before, target, wish)); err != nil {
			return err
		}
	}
	// The first Ctrl-C ends the steps; the second is not caught.
	steps, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(steps, stop)
	defer stop()
	report, err := src.flushing(look).run(steps, target.ID.Process, wish, nil)
	if err != nil {
		return flushFailure(err)
	}
	return p.writeFlush(before, target, &report, f.format, s)
}

// flushTarget finds the process, and refuses where it cannot be asked.
func (p *program) flushTarget(snap *snapshot.Snapshot, src *sources, s *settings, pid int) (*snapshot.Process, error) {
	var best *snapshot.Process
	reason := ""
	for i := range snap.Rows {
		row := &snap.Rows[i]
		if row.ID.Process.PID != pid {
			continue
		}
		why := row.FlushRefusal(snap.Host.User)
		if best == nil || why == "" && reason != "" {
			best, reason = row, why
		}
	}
	switch {
	case best == nil:
		return nil, p.notThere(snap, src, s, pid)
	case reason == "":
		return best, nil
	}
	f := refused(nil, "%s", cleanText(reason))
	if src.probes != nil {
		for _, problem := range src.probes.Problems() {
			if problem.PID == pid || strings.Contains(problem.Path, "/"+strconv.Itoa(pid)+"-") {
				f.advice = append(f.advice, "  its probe          "+cleanText(problem.Err.Error()))
			}
		}
	}
	if best.Probe == nil {
		f.advice = append(f.advice, "  who has one        vramscope once   (FLUSH is what each would give back)")
	}
	return nil, f
}

// notThere says why a pid is on no GPU.
func (p *program) notThere(snap *snapshot.Snapshot, src *sources, s *settings, pid int) error {
	if src.table != nil {
		id, err := src.table.Identify(pid)
		if err != nil {
			return refused(err, "there is no process %d", pid)
		}
		if !src.table.Alive(id) {
			return refused(nil, "PID %d has ended", pid)
		}
	}
	if err := p.unusable(snap, src, s); err != nil {
		return err
	}
	if len(s.gpus) > 0 {
		return refused(nil, "PID %d is not on GPU %s", pid, cleanText(strings.Join(s.gpus, ", ")))
	}
	return refused(nil, "PID %d is on no GPU", pid)
}

// flushQuestion says what a flush would do, and asks.
func flushQuestion(snap *snapshot.Snapshot, target *snapshot.Process, wish flushWish) string {
	var b strings.Builder
	fmt.Fprintf(&b, "PID %d  %s  %s", target.ID.Process.PID, cmp.Or(cleanText(target.User), "?"), commandOf(target))
	if target.Runtime != "" {
		b.WriteString("  " + cleanText(strings.TrimSpace(target.Runtime+" "+target.RuntimeVersion)))
	}
	b.WriteByte('\n')
	for _, row := range rowsOf(snap, target.ID.Process, wish.devices) {
		most := ""
		if !row.ReturnableIsExact() {
			most = "up to "
		}
		fmt.Fprintf(&b, "GPU %s  used %s, a flush returns %s%s\n", placeOfDevice(snap, deviceOf(snap, row), "–"),
			orDash(row.Used), most, max(row.Returnable.Or(row.Cached.Or(0)), 0))
	}
	fmt.Fprintf(&b, "Flush it (%s)?", wish.level)
	return b.String()
}

// flushFailure words why nothing was flushed.
func flushFailure(err error) error {
	var refusal *process.Refusal
	var answer *probe.Error
	switch {
	case errors.As(err, &refusal):
		return refused(err, "%s", cleanText(refusal.Reason))
	case errors.As(err, &answer) && !errors.Is(err, probe.ErrBroken):
		return refused(err, "its probe says %s: %s", cleanText(string(answer.Code)), cleanText(answer.Message))
	case errors.Is(err, probe.ErrNoProbe):
		return refused(err, "%s", cleanText(err.Error()))
	case errors.Is(err, probe.ErrLate):
		return &failure{code: exitFailure, err: err, message: cleanText(err.Error()) + ": it may still happen"}
	default:
		return &failure{code: exitFailure, err: err, message: cleanText(err.Error())}
	}
}
