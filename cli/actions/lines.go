package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"vramscope/action"
	"vramscope/cli/command"
	"vramscope/cli/render"
	"vramscope/cli/sources"
	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/memoryviz"
	"vramscope/probe"
	"vramscope/schema"
)

// recording returns how long to record: for how many seconds, rounded up, and for how many steps.
func (f *snapshotFlags) recording() probe.Recording {
	limit := 30 * time.Second
	if f.steps > 0 {
		limit = 10 * time.Minute
	}
	return probe.Recording{Seconds: float64((cmp.Or(f.duration, limit) + time.Second - 1) / time.Second), Steps: f.steps}
}

// mayRecord returns an error if recording is not allowed, or if the user does not confirm it.
func mayRecord(p *command.Program, src *sources.Set, pid int, f *snapshotFlags) error {
	switch {
	case src.Settings.ReadOnly:
		return command.Usage("read-only is set, and recording changes something: leave out --read-only, or read_only in the configuration")
	case src.Table == nil:
		return command.Refused(nil, "a simulated process has no lines that allocate")
	case f.yes:
		return nil
	case !canAsk(p):
		return command.Usage("there is no terminal to ask on").Then("  --yes   records without asking")
	}
	r, name, steps := f.recording(), "?", ""
	if info, err := src.Table.Look(pid); err == nil {
		name = text.Cut(text.Clean(process.ShortCommand(info.Command, info.Name)), 100, "…")
	}
	if r.Steps > 0 {
		steps = fmt.Sprintf("%d steps, at most ", r.Steps)
	}
	const question = "PID %d  %s\nPyTorch records which lines allocate, for %s%.0f s. An allocation then takes\nabout 1 µs longer. Logged in %s\nRecord?"
	return confirm(p, fmt.Sprintf(question, pid, name, steps, r.Seconds, text.Clean(p.LogDirectory())))
}

// recordLines makes a process record which of its lines allocate, prints the lines, and writes the
// file of -o.
func recordLines(ctx context.Context, src *sources.Set, pid int, f *snapshotFlags, out *draft) error {
	p, wanted := src.Program, f.recording()
	var written writtenSnapshot
	err := src.Log.Do(entryOf(src.Table, "record", "snapshot --record", pid), func(e *action.Entry) (err error) {
		e.Outcome = "recorded"
		written, err = snapshotInto(ctx, src, pid, probe.SnapshotRequest{Format: probe.PyTorchFormat, Record: &wanted}, out)
		return err
	})
	if err != nil {
		return probeFailure(err, pid, "record which lines allocate")
	}
	found, err := memoryviz.Read(io.NewSectionReader(out.file, 0, written.Bytes))
	if err != nil {
		return command.Failed(err)
	}
	host, _ := os.Hostname() // "" if it is unknown
	doc := memoryviz.Document{Schema: schema.Version, Time: schema.Time(time.Now()), Host: host}
	l := &doc.Lines
	l.PID, l.Runtime, l.Seconds, l.Steps = pid, schema.Text(written.runtime.Name), written.Recorded.Seconds, written.Recorded.Steps
	l.History, l.Notes, l.Lines = found.Span.Seconds(), schema.Texts(written.Notes), found.Lines()
	for _, b := range found.Blocks {
		l.Allocated += b.Size
	}
	if f.format == "pprof" || f.format == "html" {
		_, err := out.file.Seek(0, io.SeekStart)
		err = errors.Join(err, out.file.Truncate(0))
		if f.format == "html" {
			err = errors.Join(err, found.Flames(out.file, fmt.Sprintf("PID %d", pid)))
		} else {
			err = errors.Join(err, found.Profile(out.file, time.Time(doc.Time)))
		}
		if err != nil {
			return cannotWrite(out.target, err)
		}
	}
	if f.output != "" {
		if err := out.finish(ctx, p); err != nil {
			return err
		}
	}
	return p.PrintAs(f.format, doc, render.Lines(&doc, render.SignsFor(p.ASCII(src.Settings))))
}

func diff(p *command.Program) *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:         "diff BEFORE AFTER",
		Annotations: command.WithoutScreen,
		Short:       "what has more memory in one snapshot than in another, by line",
		Long: `Compares two pickles of PyTorch's memory and lists what has more live memory in
the second, the most first: by the line that allocated it where that was
recorded, else by the size of the blocks. What leaks comes first if both were
taken at the end of a step, as with snapshot --record --steps.`,
		Example:           `  vramscope snapshot diff before.pickle after.pickle`,
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // files
		RunE: func(_ *cobra.Command, files []string) error {
			if len(files) != 2 {
				return command.Usage("snapshot diff takes two files, not %d", len(files))
			}
			var read [2]*memoryviz.Snapshot
			for i, name := range files {
				file, err := os.Open(name)
				if err == nil {
					read[i], err = memoryviz.Read(file)
					_ = file.Close() // only read
				}
				if err != nil {
					return command.Failed(fmt.Errorf("%s: %w", text.Clean(name), command.WithoutPath(err)))
				}
			}
			doc := memoryviz.GrowthDocument{Schema: schema.Version, Before: schema.Text(files[0]), After: schema.Text(files[1])}
			doc.Lines, doc.Grown = memoryviz.Growth(read[0], read[1])
			return p.PrintAs(format, doc, render.Growth(&doc))
		},
	}
	command.ChoiceFlag(cmd, &format, "format", "f", "table", "json")
	return cmd
}
