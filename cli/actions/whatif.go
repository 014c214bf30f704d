package actions

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/render"
	"vramscope/cli/sources"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/memoryviz/whatif"
	"vramscope/sampler"
	"vramscope/schema"
)

type whatIf struct {
	settings []string
	memory   string
	python   string
	format   string

	room, outside quantity.Bytes // of the GPU's memory: what PyTorch can have, and what the process has outside of PyTorch; 0: not known
}

func WhatIf(p *command.Program) *cobra.Command {
	f := whatIf{}
	cmd := &cobra.Command{
		Use:         "what-if TRACE|PID",
		Annotations: command.WithoutScreen,
		Short:       "what a PyTorch program would need under other allocator settings",
		Long: `Replays what a program asked PyTorch's allocator for, through the same PyTorch,
under other settings of PYTORCH_CUDA_ALLOC_CONF, and prints for each how much it
reserves, how much of that is fragmented, whether it runs out of memory, and the
smallest GPU that holds it.

TRACE is a pickle of PyTorch's memory history; a PID's probe is asked for one.
The replay is exact if that begins with the first allocation, as under
vramscope run --record-memory. Else it is an estimate, and the output says so.

No GPU is used: PyTorch runs in a process of its own, with the rights of the
program's user, on a stand-in for the CUDA runtime that only counts memory.`,
		Example: `  vramscope run --record-memory DIR -- python3 train.py
  vramscope what-if DIR/memory-2963112.pickle --memory 23GiB
  vramscope what-if 2963112 --setting expandable_segments:True`,
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // files
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.Usage("what-if takes one trace or PID, not %d", len(args))
			}
			return f.run(cmd.Context(), p, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.settings, "setting", nil, "try these, as in PYTORCH_CUDA_ALLOC_CONF, and no others; may be repeated")
	flags.Lookup("setting").DefValue = "" // not "(default [])" in the help
	flags.Var(command.Checked(&f.memory, func(s string) (err error) { f.room, err = quantity.ParseBytes(s); return err }), "memory", "what PyTorch has of the GPU")
	flags.StringVar(&f.python, "python", "", "the Python with PyTorch (the process's; python3)")
	command.ChoiceFlag(cmd, &f.format, "format", "f", "table", "json")
	command.NameValues(cmd, map[string]string{"setting": "SETTINGS", "memory": "SIZE", "python": "FILE"})
	return cmd
}

func (f *whatIf) run(ctx context.Context, p *command.Program, source string) error {
	src, err := sources.Open(p, 0)
	if err != nil {
		return err
	}
	ctx, stop := command.UntilSignal(ctx)
	defer stop()
	snapshot, python, err := f.open(ctx, src, source)
	if err != nil {
		return err
	}
	if len(f.settings) == 0 {
		f.settings = whatif.Settings
	}
	doc, err := python.Replay(ctx, snapshot, f.settings, f.room, f.outside)
	if err != nil {
		return command.Refused(err, "nothing was replayed: %v", cmp.Or(ctx.Err(), err))
	}
	if len(doc.Devices) == 0 {
		return command.Refused(nil, "%s has no memory history", text.Clean(source)).Then(
			"  vramscope run --record-memory DIR -- CMD…   records one from the start",
			"  vramscope record PID -o FILE                records some steps: FILE gives an estimate")
	}
	doc.Schema, doc.Source, doc.Notes = schema.Version, schema.Text(source), []string{}
	if slices.ContainsFunc(doc.Devices, func(d whatif.Device) bool { return d.Failed }) {
		doc.Notes = append(doc.Notes, "it ran out of memory: what it would have asked for after that is not known")
	}
	if python.Connected {
		doc.Notes = append(doc.Notes, "the kernel did not let the replay be without a network")
	}
	if f.outside == 0 {
		doc.Notes = append(doc.Notes, "what the process has outside of PyTorch (CUDA context, libraries) is not known, and not counted")
	}
	return p.PrintAs(f.format, doc, render.WhatIf(&doc, render.SignsFor(p.ASCII(src.Settings))))
}

// open reads the snapshot from a file or a process, and finds the PyTorch to replay it.
func (f *whatIf) open(ctx context.Context, src *sources.Set, source string) (snapshot []byte, python *whatif.Python, err error) {
	pid, notNumber := strconv.Atoi(source)
	if notNumber == nil && src.Table == nil {
		return nil, nil, command.Refused(nil, "a simulated process has no memory history")
	}
	if notNumber != nil || f.python != "" {
		if python, err = whatif.Named(ctx, cmp.Or(f.python, "python3")); err != nil {
			return nil, nil, command.Fail("no Python: %w", err)
		}
	} else if python, err = whatif.Of(pid); err != nil {
		return nil, nil, command.Refused(err, "PID %d: %v", pid, err).Then("  --python FILE   names a Python with the same PyTorch")
	}
	if notNumber == nil {
		if snapshot, err = src.MemoryHistory(ctx, pid); err != nil {
			return nil, nil, probeFailure(err, pid, "write its memory history")
		}
		src.LookOnce()
		listening, end := src.ListenFor(ctx)
		defer end()
		room, outside := sources.RoomOf(src.Look(listening, sampler.New(src.Options)), pid)
		f.room, f.outside = cmp.Or(f.room, room), outside
		return snapshot, python, nil
	}
	if snapshot, err = sources.ReadTrace(source, nil); err != nil {
		return nil, nil, command.Fail("%s: %w", text.Clean(source), command.WithoutPath(err))
	}
	return snapshot, python, nil
}
