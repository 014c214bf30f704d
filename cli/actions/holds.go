package actions

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/render"
	"vramscope/cli/sources"
	"vramscope/internal/quantity"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

func Holds(p *command.Program) *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:         "holds PID",
		Annotations: command.WithoutScreen,
		Short:       "what holds a PyTorch process's memory, by class",
		Long: `Asks the probe in a process what holds the memory that PyTorch has allocated:
parameters, gradients, optimizer state, buffers, activations, variables,
workspaces, and what it cannot name. Every block counts once, so that the
classes sum to what is allocated.

Activations are what no object holds that the probe knows, and what is gone
by the end of the step: it waits for that, 15 seconds at most. Without an
optimizer that steps they stay unnamed. The program goes on meanwhile.
docs/python.md says what the probe finds, and what that costs.`,
		Example: `  vramscope holds 2963112
  vramscope holds 2963112 --format json | jq '.holds.devices[].classes[]'`,
		Args: command.OnePID("  vramscope once     lists them"),
		RunE: command.WithPID(func(ctx context.Context, pid int) error { return runHolds(ctx, p, pid, format) }),
	}
	command.ChoiceFlag(cmd, &format, "format", "f", "table", "json")
	return cmd
}

func runHolds(ctx context.Context, p *command.Program, pid int, format string) error {
	src, err := sources.Open(p, 0)
	if err != nil {
		return err
	}
	if len(src.Options.Only) > 0 {
		return command.Usage("--gpu: holds covers all GPUs that the process uses: leave it out")
	}
	ctx, stop := command.UntilSignal(ctx)
	defer stop()
	src.LookOnce()
	found, err := src.Holds(ctx, pid, func() *snapshot.Snapshot {
		listening, end := src.ListenFor(ctx)
		defer end()
		return src.Look(listening, sampler.New(src.Options))
	})
	if err != nil && ctx.Err() != nil {
		return &command.Failure{Code: command.ExitFailure, Err: ctx.Err(), Message: "interrupted"}
	}
	if err != nil {
		return probeFailure(err, pid, "say what holds its memory")
	}
	doc := holdsDocument(pid, &found)
	return p.PrintAs(format, doc, render.Holds(&doc.Holds, found.Snapshot, render.SignsFor(p.ASCII(src.Settings))))
}

func holdsDocument(pid int, found *sources.Held) schema.HoldsDocument {
	h := &found.Holds
	doc := schema.HoldsDocument{
		Schema: schema.Version, Time: schema.Time(time.Unix(0, h.TimeNS)), Host: found.Snapshot.Host.Name,
		Holds: schema.Holds{
			PID: pid, Runtime: schema.Text(found.Runtime.Name), Exact: h.Exact, Moving: h.Moving, Notes: schema.Texts(h.Notes),
			TookMS: h.Milliseconds, Devices: []schema.HoldsDevice{},
		},
	}
	for _, d := range h.Devices {
		device := schema.HoldsDevice{UUID: d.UUID, AllocatedBytes: d.AllocatedBytes, UsedBytes: found.Used[d.UUID], Classes: []schema.HeldClass{}}
		if g, _ := found.Snapshot.Device(d.UUID); g != nil && g.Name != "" {
			device.GPU = quantity.From(g.Index, quantity.Driver)
		}
		for _, part := range d.Parts {
			device.Classes = append(device.Classes, schema.HeldClass{Class: part.Class, Bytes: part.Bytes, Blocks: part.Blocks})
		}
		doc.Holds.Devices = append(doc.Holds.Devices, device)
	}
	return doc
}
