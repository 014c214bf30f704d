package past

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/sources"
	"vramscope/guard/advice"
	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/recording/why"
	"vramscope/sampler/snapshot"
)

type whyFlags struct {
	last   bool
	at     string
	file   string
	trace  string
	python string
	format string
}

func Why(p *command.Program) *cobra.Command {
	f := whyFlags{}
	cmd := &cobra.Command{
		Use:         "why [PID]",
		Annotations: map[string]string{command.Takes: "demo"},
		Short:       "why a process ran out of GPU memory",
		Long: `Explains an out-of-memory event of a recording: what was asked for, what was
free, who used the rest and what they did before, the cause as far as the
figures prove it, and what would have helped.

Without PID and --at it is the last event. docs/why.md has the causes.

With --trace it replays what the process allocated under run --record-memory, as
what-if does: under which setting of PyTorch's allocator would it have fitted?`,
		Example: `  vramscope why                     the last event
  vramscope why 4711                of this process
  vramscope why --at '03:12'        the event nearest to that time
  vramscope why 4711 --trace DIR    as run --record-memory DIR left it
  vramscope why --format json | jq -r .verdict`,
		Args: command.AtMostOne("PID"),
		RunE: func(cmd *cobra.Command, args []string) error { return runWhy(cmd.Context(), p, f, args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.last, "last", false, "the last event, as without arguments")
	flags.Var(command.Moment(&f.at), "at", "the event nearest to this time: '03:12', '2026-11-21 03:12'")
	flags.StringVar(&f.file, "file", "", "a recording, or a folder of them (default: where vramscope daemon --record puts them)")
	flags.StringVar(&f.trace, "trace", "", "of run --record-memory, or its DIR: would other settings have helped?")
	flags.StringVar(&f.python, "python", "python3", "the Python with its PyTorch, for --trace")
	command.ChoiceFlag(cmd, &f.format, "format", "f", "text", "json")
	command.NameValues(cmd, map[string]string{"at": "TIME", "file": "PATH", "trace": "PATH", "python": "FILE"})
	return cmd
}

func runWhy(ctx context.Context, p *command.Program, f whyFlags, args []string) error {
	if f.at != "" && (f.last || len(args) > 0) || f.last && len(args) > 0 {
		return command.Usage("why takes one of PID, --last and --at")
	}
	pid, err := command.PID(args)
	if err != nil {
		return err
	}
	r, err := sources.OpenRecording(p, f.file)
	if err != nil {
		return err
	}
	defer r.Close()
	event, err := whichEvent(r, pid, f.at)
	if err != nil {
		return err
	}
	evidence := why.Gather(r, event)
	if f.trace != "" {
		if evidence.Replayed, err = replayTrace(ctx, &f, evidence); err != nil {
			return command.Refused(err, "--trace: %v", text.Clean(err.Error()))
		}
	}
	verdict := why.Judge(evidence)
	var page strings.Builder
	for _, line := range why.Page(evidence, &verdict, 78) {
		page.WriteString(line.Text + "\n")
	}
	return p.PrintAs(f.format, why.DocumentOf(evidence, &verdict), page.String())
}

// replayTrace replays the trace of the process: the file --trace, or a file in the directory --trace.
func replayTrace(ctx context.Context, f *whyFlags, e *why.Evidence) ([]advice.Replay, error) {
	info, err := os.Stat(f.trace)
	if err != nil {
		return nil, err
	}
	file := f.trace
	if info.IsDir() {
		if file, err = traceIn(f.trace, e.Event.Row.Process.PID, e.Event.Time); err != nil {
			return nil, err
		}
	}
	trace, err := sources.ReadTrace(file, func(uid uint32) bool {
		name := process.NewTable("/proc").UserName(uid)
		return name != "" && name == e.Event.User
	})
	if err != nil {
		return nil, err
	}
	return sources.ReplayedError(ctx, trace, f.python, e.Requested.Or(0), e.Reserved.Or(0))
}

// traceIn returns the first trace that the process wrote after its error.
func traceIn(directory string, pid int, failed time.Time) (string, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return "", err
	}
	named, first := regexp.MustCompile(fmt.Sprintf(`^memory-%d(-\d+)?\.pickle$`, pid)), os.FileInfo(nil)
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && named.MatchString(info.Name()) && !info.ModTime().Before(failed) && (first == nil || info.ModTime().Before(first.ModTime())) {
			first = info
		}
	}
	if first == nil {
		return "", fmt.Errorf("it has no trace of PID %d from after the error", pid)
	}
	return filepath.Join(directory, first.Name()), nil
}

func whichEvent(r *sources.Recording, pid int, at string) (*snapshot.Event, error) {
	var events []snapshot.Event // the newest first
	for _, e := range r.EventsOf(snapshot.EventOutOfMemory, 0) {
		if pid == 0 || e.Row.Process.PID == pid {
			events = append(events, e)
		}
	}
	oldest, newest := r.Span()
	span := fmt.Sprintf("the recording is of %s to %s", oldest.Local().Format(time.DateTime), newest.Local().Format(time.DateTime))
	switch {
	case pid != 0 && len(events) == 0:
		return withoutEvent(r, pid, span)
	case len(events) == 0:
		return nil, command.Fail("no process has run out of memory; %s", span).Then("  Only a probe sees that: vramscope run -- COMMAND, vramscope attach PID")
	case at == "":
		return &events[0], nil
	}
	moment, err := r.Moment("at", at)
	if err != nil {
		return nil, err
	}
	nearest := slices.MinFunc(events, func(a, b snapshot.Event) int {
		return cmp.Compare(a.Time.Sub(moment).Abs(), b.Time.Sub(moment).Abs())
	})
	if off := nearest.Time.Sub(moment).Abs(); off > 10*time.Minute {
		return nil, command.Fail("no process ran out of memory then; the nearest event is of %s", nearest.Time.Local().Format(time.DateTime))
	}
	return &nearest, nil
}

// withoutEvent returns the end of a process without an out-of-memory event as an event, so that the state of the
// box at that time is shown.
func withoutEvent(r *sources.Recording, pid int, span string) (*snapshot.Event, error) {
	oldest, newest := r.Span()
	processes, err := r.Processes(oldest, newest.Add(time.Second))
	if err != nil {
		return nil, err
	}
	for _, found := range slices.Backward(processes) {
		if found.ID.Process.PID == pid {
			return &snapshot.Event{
				Time: found.Last, Kind: snapshot.EventEnded, GPU: found.GPU, GPUUUID: found.ID.GPUUUID, Row: found.ID,
				User: found.User, Name: found.Name,
			}, nil
		}
	}
	return nil, command.Fail("the recording has no PID %d; %s", pid, span)
}
