package present

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/render"
	"vramscope/cli/sources"
	forecaster "vramscope/forecast"
	"vramscope/headroom"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// The exit codes of headroom that are answers, not failures.
const (
	exitNoRoom     = 3
	exitAfterFlush = 4
)

// HeadroomFlags are the flags of headroom and of fleet headroom.
type HeadroomFlags struct {
	Need   string
	Length string
	watch  string
	wait   time.Duration // 0: do not wait
	Count  int
	Format string
}

func Headroom(p *command.Program) *cobra.Command {
	f := HeadroomFlags{}
	cmd := &cobra.Command{
		Use:         "headroom --need SIZE",
		Annotations: command.WithoutScreen,
		Short:       "will it fit: now, and for a while (exit code)",
		Long: `Answers whether a job that needs SIZE of memory fits on a GPU, for scripts and
schedulers: by its exit code, and by a line for each GPU or MIG instance with
what is free, what flushes would free, and whether the job fits there.

  0  yes: on at least one of the GPUs (--count N: on N of them)
  3  no
  4  only after a flush of the processes that are named

--wait waits until the answer is yes, at most for so long, and says on standard
error what it waits for. It samples once per --interval, as the monitor does.

SIZE is everything that the job will use, including its CUDA context (some
hundred MiB). A letter is a binary unit: 20G is 20GiB.
20GB is 20,000,000,000 bytes, which is 18.6GiB.

--for asks whether it will also go on fitting beside the processes that are
there. One sample gives no forecast, so it observes first: for a minute, or for
as long as --watch says. The forecast is the monitor's; yes means that the lower
end of the 80 % interval of what will be free never falls below SIZE.
docs/headroom.md has the rules and the JSON.`,
		Example: `  vramscope headroom --need 20GiB && sbatch job.sh
  vramscope headroom --need 20GiB --for 10m --watch 60s
  vramscope headroom --need 20GiB --for 10m --wait 2h && python3 train.py
  vramscope headroom --need 38GiB --count 4 --gpu 0,1,2,3
  vramscope headroom --need 8G --format json | jq -r '.headroom.places[] | select(.verdict == "yes").uuid'`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runHeadroom(cmd.Context(), p, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Need, "need", "", "how much the job will use: 20GiB, 512MiB")
	flags.StringVar(&f.Length, "for", "", "it must go on fitting for this long, up to 15m")
	flags.StringVar(&f.watch, "watch", "", "observe for this long first, up to 30m (default 1m with --for)")
	flags.Var(command.Duration(&f.wait, time.Second, longestWait), "wait", "wait until it fits, at most for this long: 10m, 2h, up to 168h")
	flags.IntVar(&f.Count, "count", 1, "it must fit on this many GPUs or MIG instances, SIZE on each")
	command.ChoiceFlag(cmd, &f.Format, "format", "f", "table", "json")
	command.NameValues(cmd, map[string]string{"need": "SIZE", "for": "DURATION", "watch": "DURATION", "wait": "DURATION", "count": "NUMBER"})
	return cmd
}

const (
	usualWatch   = time.Minute
	longestWatch = 30 * time.Minute
)

const leastNeed = quantity.MiB

// longestWait is a week, the usual limit of a cluster's jobs.
const longestWait = 7 * 24 * time.Hour

// Question returns the question that the flags ask.
func (f *HeadroomFlags) Question(interval time.Duration) (q headroom.Question, err error) {
	if f.Need == "" {
		return q, command.Usage("headroom needs --need: how much memory the job will use").Then("  vramscope headroom --need 20GiB")
	}
	if q.Need, err = quantity.ParseBytes(f.Need); err != nil {
		return q, command.Usage("--need: %v", err)
	}
	switch {
	case q.Need == 0:
		return q, command.Usage("--need: 0 always fits: give what the job will use, 20GiB, 512MiB")
	case q.Need < leastNeed:
		// "20" probably means 20 GiB, and a yes to 20 bytes would start the job.
		return q, command.Usage("--need: %q is less than 1MiB, too little for any job: write 20GiB, 512MiB", text.Clean(f.Need))
	case f.Count < 1:
		return q, command.Usage("--count: %d is out of range: from 1", f.Count)
	case f.Length == "" && f.watch != "":
		return q, command.Usage("--watch goes with --for: without it the answer is about now")
	}
	q.Count = f.Count
	if f.Length == "" {
		return q, nil
	}
	farthest := forecaster.Horizons[len(forecaster.Horizons)-1]
	if q.Length, err = config.Duration(f.Length, time.Second, farthest); err != nil {
		return q, command.Usage("--for: %v; a forecast reaches no further", err)
	}
	// As long as the samples that a forecast needs take, and two more in case one is late.
	minimum := (forecaster.MinSamples + 2) * max(interval, time.Second)
	if f.watch == "" {
		q.Watched = max(usualWatch, minimum)
		return q, nil
	}
	if q.Watched, err = config.Duration(f.watch, minimum, max(longestWatch, minimum)); err != nil {
		return q, command.Usage("--watch: %v; a forecast takes %d samples", err, forecaster.MinSamples)
	}
	return q, nil
}

func runHeadroom(ctx context.Context, p *command.Program, f HeadroomFlags) error {
	s, err := p.Settings()
	if err != nil {
		return err
	}
	q, err := f.Question(s.Interval)
	if err != nil {
		return err
	}
	// A simulated box has the past that a watch would observe.
	src := sources.OpenWith(p, &s, q.Watched)
	src.LookOnce()
	w := &waiting{program: p, question: q, sampling: sampler.New(src.Options), limit: f.wait, began: p.Now(), signs: render.SignsFor(p.ASCII(&s))}
	w.status = command.Status{Program: p, Ellipsis: w.signs.Ellipsis}
	snap, err := w.observe(ctx, src)
	if err != nil {
		return err
	}
	if snap.Driver.State != snapshot.DriverOK {
		return src.DriverFailure(snap) // only the driver reports free memory
	}
	report := headroom.Judge(snap, w.sampling.History(), q)
	return writeHeadroom(p, &report, w, f.Format)
}

// writeHeadroom writes the answer and returns its exit code as an error.
func writeHeadroom(p *command.Program, r *headroom.Report, w *waiting, format string) error {
	doc := render.HeadroomDocument(r)
	if w.limit > 0 {
		doc.Headroom.WaitSeconds, doc.Headroom.WaitedSeconds = new(w.limit.Seconds()), new(w.waited().Seconds())
	}
	if err := p.PrintAs(format, doc, render.HeadroomText(r, w.signs, p.OutputWidth())); err != nil {
		return err
	}
	return ExitOf(r.Answer, "no GPU could be judged")
}

// ExitOf returns the exit code of an answer, with a message if there is no answer.
func ExitOf(answer headroom.Verdict, unjudged string) error {
	switch answer {
	case headroom.Yes:
		return nil
	case headroom.AfterFlush:
		return &command.Silent{Code: exitAfterFlush}
	case headroom.No:
		return &command.Silent{Code: exitNoRoom}
	default:
		return command.Fail("%s", unjudged)
	}
}

// waiting takes the snapshot to judge: at once, after watching, or as soon as the job fits.
type waiting struct {
	program  *command.Program
	question headroom.Question
	sampling *sampler.Sampler
	limit    time.Duration // 0: do not wait
	began    time.Time
	signs    render.Signs

	answered bool // the driver has answered at least once
	status   command.Status
}

func (w *waiting) waited() time.Duration { return w.program.Now().Sub(w.began) }

func (w *waiting) observe(ctx context.Context, src *sources.Set) (*snapshot.Snapshot, error) {
	watch := w.question.Watched
	if src.Options.Simulated { // a simulated box has been watched already
		src.CatchUp(w.sampling, src.Options.Interval)
		watch = 0
		if w.limit == 0 {
			snap := w.sampling.Tick(src.Options.Clock())
			return snap, src.Unusable(snap)
		}
	}
	if watch > 0 && command.IsTerminal(w.program.Stderr) {
		w.status.Write("vramscope: observing for %s; Ctrl-C ends it\n", quantity.BriefDuration(watch))
	}
	if w.limit == 0 {
		return src.Observe(ctx, w.sampling, watch)
	}
	snap, err := src.ObserveUntil(ctx, w.sampling, max(w.limit, watch), func(snap *snapshot.Snapshot) bool {
		return w.enough(snap, watch)
	})
	w.status.Clear()
	return snap, err
}

// enough reports whether the wait is over: the job fits, or the driver has never answered.
func (w *waiting) enough(snap *snapshot.Snapshot, watch time.Duration) bool {
	if snap.Driver.State != snapshot.DriverOK {
		if !w.answered {
			return true
		}
		w.announce("no driver", "the driver does not answer")
		return false
	}
	w.answered = true
	if w.waited() < watch {
		return false
	}
	r := headroom.Judge(snap, w.sampling.History(), w.question)
	if r.Answer == headroom.Yes {
		return true
	}
	var verdicts []string
	for i := range r.Places {
		verdicts = append(verdicts, string(r.Places[i].Verdict))
	}
	w.announce(strings.Join(verdicts, " "), strings.TrimPrefix(r.Sentence(), "no: ")+nearest(&r))
	return false
}

// nearest names the place that lacks the least memory.
func nearest(r *headroom.Report) string {
	short := slices.DeleteFunc(slices.Clone(r.Places), func(p headroom.Place) bool {
		return p.Verdict == headroom.Unknown || p.Verdict == headroom.Yes
	})
	if len(short) == 0 {
		return ""
	}
	nearest := slices.MinFunc(short, func(a, b headroom.Place) int { return cmp.Compare(a.Short, b.Short) })
	return fmt.Sprintf("; GPU %s is %s short", nearest.Label, nearest.Short)
}

func (w *waiting) announce(answer, sentence string) {
	left := quantity.BriefDuration(max(w.limit-w.waited(), 0).Round(time.Second))
	w.status.Show(answer, fmt.Sprintf("vramscope: waiting, %s left: %s", left, sentence))
}
