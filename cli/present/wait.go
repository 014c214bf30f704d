package present

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/render"
	"vramscope/cli/sources"
	"vramscope/headroom"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// waiting takes the snapshot to judge: at once, after watching, or as soon as the
// job fits. Standard error has what it waits for: in a terminal a line that
// changes, elsewhere a line for each change of the answer.
type waiting struct {
	program  *command.Program
	question headroom.Question
	sampling *sampler.Sampler
	limit    time.Duration // 0: it does not wait
	began    time.Time
	signs    render.Signs

	answered bool      // the driver, once
	written  string    // the answer of the last line, without its figures
	when     time.Time // of that line
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
		w.write("vramscope: observing for %s; Ctrl-C ends it\n", quantity.BriefDuration(watch))
	}
	if w.limit == 0 {
		return src.Observe(ctx, w.sampling, watch)
	}
	snap, err := src.ObserveUntil(ctx, w.sampling, max(w.limit, watch), func(snap *snapshot.Snapshot) bool {
		return w.enough(snap, watch)
	})
	if command.IsTerminal(w.program.Stderr) {
		w.write("\r\x1b[K") // of the line that changes
	}
	return snap, err
}

// enough reports whether the wait is over: the job fits, or there is no driver from the start.
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

// nearest is the place that lacks least.
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

// betweenLines is the least time between two lines outside of a terminal: an
// answer that changes each second shall not fill a job's log.
const betweenLines = time.Minute

func (w *waiting) announce(answer, sentence string) {
	left := quantity.BriefDuration(max(w.limit-w.waited(), 0).Round(time.Second))
	if width := command.Width(w.program.Stderr); width > 0 {
		line := fmt.Sprintf("vramscope: waiting, %s left: %s", left, sentence)
		w.write("\r\x1b[K%s", text.Cut(line, width-1, w.signs.Ellipsis)) // a full line would wrap
		w.written = answer
		return
	}
	if answer == w.written || !w.when.IsZero() && w.program.Now().Sub(w.when) < betweenLines {
		return
	}
	w.written, w.when = answer, w.program.Now()
	w.write("vramscope: waiting, %s left: %s\n", left, sentence)
}

// write writes to standard error; a failure to write it does not matter.
func (w *waiting) write(format string, args ...any) {
	_, _ = fmt.Fprintf(w.program.Stderr, format, args...)
}
