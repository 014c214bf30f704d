package actions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/action"
	"vramscope/cli/command"
	"vramscope/cli/sources"
	"vramscope/internal/bounded"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/probe"
)

type snapshotFlags struct {
	output string
	format string
	force  bool

	record   bool
	steps    int64
	duration time.Duration
	yes      bool
}

func Snapshot(p *command.Program) *cobra.Command {
	f := snapshotFlags{}
	cmd := &cobra.Command{
		Use:         "snapshot PID",
		Annotations: command.WithoutScreen,
		Short:       "save where a PyTorch process's memory lies; which lines allocate",
		Long: `Has the probe in a process write a snapshot of PyTorch's allocator into a file:
every segment that it has from the driver, and every block in it.

  pytorch    PyTorch's own pickle, as torch.cuda.memory._dump_snapshot writes
             it. https://pytorch.org/memory_viz shows it in a browser
  segments   the map that the key v shows: JSON, ` + probe.SegmentsSchema + `,
             described in docs/protocol.md

With --record PyTorch first records which lines of the program allocate, for so
many steps of its optimizer or for a time. They are printed; -o writes them, as
a pickle, for go tool pprof or as a flame graph (html). It asks first, unless
--yes is given, and is logged as a flush is. docs/inside.md says what it costs,
and what has no line.

A file is readable by you alone (0600) and appears only once it is complete.
An existing file is not replaced, unless --force is given.`,
		Example: `  vramscope snapshot 2963112 -o carol.pickle
  vramscope snapshot 2963112 --format segments -o - | jq '.devices[].segments | length'
  vramscope snapshot 2963112 --record --steps 20 -o before.pickle
  vramscope snapshot 2963112 --record --for 30s --format pprof -o job.pb.gz`,
		Args: command.OnePID("  vramscope once     lists them"),
		RunE: command.WithPID(func(ctx context.Context, pid int) error { return runSnapshot(ctx, p, pid, f) }),
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "where to write it; - is standard output")
	command.ChoiceFlag(cmd, &f.format, "format", "f", string(probe.PyTorchFormat), string(probe.SegmentsFormat), "pprof", "html", "json")
	flags.BoolVar(&f.force, "force", false, "replace an existing file")
	flags.BoolVar(&f.record, "record", false, "first record which lines allocate")
	flags.Int64Var(&f.steps, "steps", 0, "record until so many steps have ended")
	flags.DurationVar(&f.duration, "for", 0, "record for so long; with --steps at most (30s, with --steps 10m)")
	flags.Lookup("for").DefValue = "" // not "(default 0s)" in the help
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	command.NameValues(cmd, map[string]string{"output": "FILE", "steps": "N", "for": "DURATION"})
	cmd.AddCommand(diff(p))
	return cmd
}

// Record returns snapshot --record as a command.
func Record(p *command.Program) *cobra.Command {
	cmd := Snapshot(p)
	cmd.RemoveCommand(cmd.Commands()...)
	cmd.Use, cmd.Short = "record PID", "find which lines of a PyTorch process allocate GPU memory"
	cmd.Long = `Has PyTorch in a process record which lines of the program allocate, for so many
steps of its optimizer or for a time, and prints those that hold the most. It is
vramscope snapshot --record, and asks first, unless --yes is given.`
	cmd.Example = `  vramscope record 2963112 --steps 20
  vramscope record 2963112 --for 30s --format pprof -o job.pb.gz`
	record := cmd.Flags().Lookup("record")
	record.Hidden = true
	_ = record.Value.Set("true") // a Boolean flag accepts true
	return cmd
}

// check refuses flags that the command cannot follow.
func (f *snapshotFlags) check(src *sources.Set) error {
	file := f.format == "pprof" || f.format == "html"
	switch {
	case f.record && f.format == string(probe.SegmentsFormat):
		return command.Usage("a map of segments has no lines: leave out --record or --format segments")
	case f.record && (f.output == "-" || f.output == "" && file):
		return command.Usage("with --record the lines are printed: name a file for the rest, -o FILE")
	case !f.record && (f.steps != 0 || f.duration != 0 || file || f.format == "json"):
		return command.Usage("--steps, --for, --format pprof, html and json need --record")
	case f.output == "" && !f.record:
		return command.Usage("snapshot needs a file to write to").Then("  vramscope snapshot PID -o FILE")
	case f.output == "-" && f.format == string(probe.PyTorchFormat) && command.IsTerminal(src.Program.Stdout):
		return command.Usage("a pickle cannot be shown in a terminal: name a file with -o FILE")
	case len(src.Options.Only) > 0:
		return command.Usage("--gpu: a snapshot covers all GPUs that the process uses: leave it out")
	}
	return nil
}

func runSnapshot(ctx context.Context, p *command.Program, pid int, f snapshotFlags) error {
	src, err := sources.Open(p, 0)
	if err != nil {
		return err
	}
	if err := f.check(src); err != nil {
		return err
	}
	if f.record {
		if err := mayRecord(p, src, pid, &f); err != nil {
			return err
		}
	}
	ctx, stop := command.UntilSignal(ctx)
	defer stop()
	out, err := newDraft(cmp.Or(f.output, "-"), f.force)
	if err != nil {
		return err
	}
	defer out.discard()
	if f.record {
		err = recordLines(ctx, src, pid, &f, out)
	} else {
		err = takeSnapshot(ctx, p, src, pid, f, out)
	}
	if err != nil && ctx.Err() != nil {
		return &command.Failure{Code: command.ExitFailure, Err: ctx.Err(), Message: "interrupted: no snapshot was written"}
	}
	return err
}

func takeSnapshot(ctx context.Context, p *command.Program, src *sources.Set, pid int, f snapshotFlags, out *draft) error {
	written, err := snapshotInto(ctx, src, pid, probe.SnapshotRequest{Format: probe.SnapshotFormat(f.format)}, out)
	if err != nil {
		return probeFailure(err, pid, "write the snapshot")
	}
	if err := out.finish(ctx, p); err != nil {
		return err
	}
	var b strings.Builder
	name := f.output
	if name == "-" {
		name = "stdout"
	}
	fmt.Fprintf(&b, "wrote %s to %s (PID %d", quantity.Bytes(written.Bytes), text.Clean(name), pid)
	if runtime := strings.TrimSpace(written.runtime.Name + " " + written.runtime.Version); runtime != "" {
		b.WriteString(", " + text.Clean(runtime))
	}
	b.WriteString(")\n")
	for _, note := range written.Notes {
		b.WriteString("note: " + text.Clean(note) + "\n")
	}
	if f.format == string(probe.PyTorchFormat) {
		b.WriteString("open it at https://pytorch.org/memory_viz\n")
		if written.foreign {
			b.WriteString("note: it comes from another user's program: open it there, and do not unpickle it as root\n")
		}
	}
	if f.output == "-" {
		_, err = p.Stderr.WriteString(b.String())
		return err
	}
	return p.Print([]byte(b.String()))
}

// writtenSnapshot describes a written snapshot and its program.
type writtenSnapshot struct {
	probe.SnapshotResult
	runtime probe.Runtime
	foreign bool // the process is another user's
}

// snapshotInto fills the draft with a snapshot of a process.
func snapshotInto(ctx context.Context, src *sources.Set, pid int, wanted probe.SnapshotRequest, out *draft) (writtenSnapshot, error) {
	if src.Table == nil {
		return simulatedSnapshot(ctx, src, pid, wanted.Format, out)
	}
	client, hello, err := src.Connect(ctx, pid)
	if err != nil {
		return writtenSnapshot{}, err
	}
	defer func() { _ = client.Close() }() // the answer is complete
	written := writtenSnapshot{foreign: client.Foreign()}
	if len(hello.Runtimes) > 0 {
		written.runtime = hello.Runtimes[0]
	}
	if wanted.Format == probe.SegmentsFormat {
		found, err := client.Segments(ctx)
		return written, written.writeMap(found, err, out)
	}
	written.SnapshotResult, err = client.Snapshot(ctx, wanted, out.file)
	return written, err
}

func simulatedSnapshot(ctx context.Context, src *sources.Set, pid int, format probe.SnapshotFormat, out *draft) (writtenSnapshot, error) {
	for _, a := range src.Options.Probes.Answers() {
		if a.Process.PID != pid {
			continue
		}
		if format != probe.SegmentsFormat {
			return writtenSnapshot{}, &probe.Error{Code: probe.Unsupported,
				Message: "a simulated process has no PyTorch that could write one; --format segments"}
		}
		written := writtenSnapshot{runtime: a.Hello.Runtimes[0]}
		found, err := src.Segments(ctx, a.Process)
		return written, written.writeMap(found, err, out)
	}
	return writtenSnapshot{}, fmt.Errorf("PID %d: %w", pid, probe.ErrNoProbe)
}

// writeMap writes a map of segments. If failed is not nil, it returns failed.
func (w *writtenSnapshot) writeMap(found probe.Segments, failed error, out *draft) error {
	if failed != nil {
		return failed
	}
	content, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("encode the map: %w", err)
	}
	content = append(text.EscapeJSON(content), '\n')
	w.Bytes = int64(len(content))
	if _, err := out.file.Write(content); err != nil {
		return cannotWrite(out.target, err)
	}
	return nil
}

// probeFailure says why a probe did not do what the command asked for.
func probeFailure(err error, pid int, what string) error {
	_, worded := errors.AsType[*command.Failure](err)
	_, refusal := errors.AsType[*process.Refusal](err)
	answer, answered := errors.AsType[*probe.Error](err)
	answered = answered && !errors.Is(err, probe.ErrBroken)
	switch {
	case worded:
		return err
	case refusal, answered && answer.Code != probe.Internal:
		return command.Refused(err, "%s", text.Clean(action.Reason(err)))
	case answered:
		return &command.Failure{Code: command.ExitFailure, Err: err, Message: "its probe could not " + what + ": " + text.Clean(answer.Message)}
	case errors.Is(err, probe.ErrNoProbe):
		return command.Refused(err, "PID %d has no probe to %s", pid, what).Then(
			"  vramscope run -- CMD…    starts a program with one", "  vramscope attach PID     puts one into a running Python program")
	case errors.Is(err, probe.ErrLate):
		return &command.Failure{Code: command.ExitFailure, Err: err, Message: text.Clean(err.Error()) + ": is the process stopped?"}
	}
	return command.Failed(err)
}

func Summary(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:         "summary PID",
		Annotations: command.WithoutScreen,
		Short:       "PyTorch's own summary of a process's memory",
		Long:        `Prints what torch.cuda.memory_summary() returns there, for each of its GPUs.`,
		Example:     `  vramscope summary 2963112`,
		Args:        command.OnePID("  vramscope once     lists them"),
		RunE: command.WithPID(func(ctx context.Context, pid int) error {
			src, err := sources.Open(p, 0)
			if err != nil {
				return err
			}
			out, err := newDraft("-", false)
			if err != nil {
				return err
			}
			defer out.discard()
			written, err := snapshotInto(ctx, src, pid, probe.SnapshotRequest{Format: probe.SummaryFormat}, out)
			if err != nil {
				return probeFailure(err, pid, "write PyTorch's summary")
			}
			content, err := bounded.First(io.NewSectionReader(out.file, 0, written.Bytes), probe.SnapshotSize)
			if err != nil {
				return fmt.Errorf("read the summary: %w", err)
			}
			var b strings.Builder
			for line := range strings.Lines(string(content)) {
				b.WriteString(text.Clean(strings.TrimSuffix(line, "\n")) + "\n")
			}
			return p.Print([]byte(b.String()))
		}),
	}
}
