package present

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/render"
	"vramscope/cli/sources"
	"vramscope/daemon/socket"
	"vramscope/guard/advice"
	"vramscope/internal/text"
	"vramscope/recording"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

type adviseFlags struct {
	watch  time.Duration
	replay bool
	format string
}

func Advise(p *command.Program) *cobra.Command {
	f := adviseFlags{}
	cmd := &cobra.Command{
		Use:         "advise [PID]",
		Annotations: command.WithoutScreen,
		Short:       "which settings would save GPU memory, how much, at what price",
		Long: `Names at most three settings or changes for each process, those that would bring
most first: each with the figures that it follows from, the bytes that it would
bring, its price and its documentation. It changes nothing, and advises nothing
that is in force.

With a PID it also asks PyTorch's probe what holds the memory, as holds does.
--replay replays what a process under run --record-memory has allocated, as
what-if does. It pauses the program for about half a second and takes about 2 KB
of host memory there for each recorded event.

One sample shows little: the past comes from a recording (vramscope daemon
--record), from a running daemon, or from --watch. docs/advice.md has the rules.`,
		Example: `  vramscope advise
  vramscope advise 4711
  vramscope advise --watch 10m
  vramscope advise --format json | jq -r '.processes[].advice[].setting'`,
		Args: command.AtMostOne("PID"),
		RunE: func(cmd *cobra.Command, args []string) error { return runAdvise(cmd.Context(), p, f, args) },
	}
	cmd.Flags().BoolVar(&f.replay, "replay", false, "replay a PID's allocations under other settings; the program pauses")
	cmd.Flags().Var(command.Duration(&f.watch, time.Second, 24*time.Hour), "watch", "observe for this long first, 1s to 24h")
	command.ChoiceFlag(cmd, &f.format, "format", "f", "text", "json")
	command.NameValues(cmd, map[string]string{"watch": "DURATION"})
	return cmd
}

// advisePast is how long a simulated box has run without --watch: enough for rules about ten minutes.
const advisePast = 15 * time.Minute

func runAdvise(ctx context.Context, p *command.Program, f adviseFlags, args []string) error {
	pid, err := command.PID(args)
	if err != nil {
		return err
	}
	if f.replay && pid == 0 {
		return command.Usage("--replay takes a PID")
	}
	src, err := sources.Open(p, cmp.Or(f.watch, advisePast))
	if err != nil {
		return err
	}
	src.LookOnce()
	snap, history, closing, err := observePast(ctx, src, f.watch)
	if err != nil {
		return err
	}
	defer closing()
	doc := advice.Document{Schema: "vramscope/advise/1", Time: schema.Time(snap.Time), Host: snap.Host.Name, Simulated: snap.Simulated, Processes: []advice.Advised{}}
	if oldest, _ := history.Span(); oldest.Before(snap.Time) {
		doc.Since = schema.Time(oldest)
	}
	var held sources.Held
	if pid != 0 {
		if held, err = src.Holds(ctx, pid, func() *snapshot.Snapshot { return snap }); err != nil {
			held = sources.Held{} // unknown: the process has no probe, or is another user's
		}
	}
	var replayed []advice.Replay
	if f.replay {
		if replayed, err = src.Replayed(ctx, snap, pid); err != nil {
			return command.Refused(err, "--replay: %v", text.Clean(err.Error()))
		}
	}
	names := map[int]string{}
	for i := range snap.Rows {
		row := &snap.Rows[i]
		names[row.ID.Process.PID] = row.ProgramName()
		if pid == 0 || row.ID.Process.PID == pid {
			in := advice.Input{Snapshot: snap, History: history, Held: held.On(snap.DeviceUUID(row.ID)).Classes, Replayed: replayed}
			if src.Table != nil {
				in.Environment, _ = src.Table.Environment(row.ID.Process) // nil, for unknown, if it cannot be read
			}
			doc.Processes = append(doc.Processes, advice.AdvisedOf(snap, row, advice.Of(in, row.ID)))
		}
	}
	if pid != 0 && len(doc.Processes) == 0 {
		return command.Fail("PID %d uses no GPU here", pid).Then("  vramscope once   lists the processes that do")
	}
	return p.PrintAs(f.format, doc, adviseText(&doc, names, pid != 0, render.SignsFor(p.ASCII(src.Settings)), cmp.Or(p.OutputWidth(), 100)))
}

// observePast takes a snapshot, and returns it with a history and a function that closes the history.
func observePast(ctx context.Context, src *sources.Set, watch time.Duration) (*snapshot.Snapshot, snapshot.History, func(), error) {
	sampling, nothing := sampler.New(src.Options), func() {}
	if src.Options.Simulated {
		src.CatchUp(sampling, src.Options.Interval)
		snap := sampling.Tick(src.Options.Clock())
		return snap, sampling.History(), nothing, src.Unusable(snap)
	}
	if watch > 0 {
		snap, err := src.Observe(ctx, sampling, watch)
		return snap, sampling.History(), nothing, err
	}
	ctx, end := src.ListenFor(ctx)
	snap := src.Look(ctx, sampling)
	if err := src.Unusable(snap); err != nil {
		end()
		return nil, nil, nil, err
	}
	if r, err := recording.Open(src.Program.RecordingsOf(false)); err == nil {
		const recent = time.Minute // an older recording says nothing about these processes now
		if _, newest := r.Span(); snap.Time.Sub(newest) < recent {
			return snap, r, func() { _ = r.Close(); end() }, nil // it was only read
		}
		_ = r.Close() // it was only read
	}
	src.Daemon.Settle(ctx)
	before := socket.NewPast(src.Daemon)
	if oldest, _ := before.Span(); !oldest.IsZero() {
		return snap, before, end, nil
	}
	return snap, sampling.History(), end, nil
}

// adviseText returns a paragraph for each process that has advice:
//
//	PID 4711 (train.py, alice) on GPU 3, 76.0G
//	  12.4G  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: the 12.4G …
//	         price: …
//	         https://…
func adviseText(doc *advice.Document, names map[int]string, named bool, signs render.Signs, width int) string {
	var b strings.Builder
	if doc.Simulated {
		b.WriteString("SIMULATED\n")
	}
	const indent = "         "
	advised, unprobed := 0, 0
	for i := range doc.Processes {
		p := &doc.Processes[i]
		if !p.Probe {
			unprobed++
		}
		if len(p.Advice) == 0 {
			continue
		}
		if advised++; advised > 1 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "PID %d (%s, %s) on GPU %d, %s\n", p.PID, cmp.Or(text.Clean(names[p.PID]), "?"), cmp.Or(text.Clean(string(p.User)), "?"), p.GPU, signs.Bytes(p.UsedBytes))
		for _, a := range p.Advice {
			lines := text.Wrap(signs.Words(string(a.Text))+".", width-len(indent), "")
			if a.Price != "" {
				lines = append(lines, text.Wrap("price: "+signs.Words(string(a.Price)), width-len(indent), "")...)
			}
			if a.Source != "" {
				lines = append(lines, string(a.Source))
			}
			fmt.Fprintf(&b, "  %5s  %s\n", signs.Bytes(a.Bytes), strings.Join(lines, "\n"+indent))
		}
	}
	if advised == 0 {
		b.WriteString("no advice: no rule of docs/advice.md holds by the figures that are known\n")
	}
	if advised == 0 || !named {
		b.WriteString(adviseLimits(doc, unprobed))
	}
	return b.String()
}

// adviseLimits says which figures the advice lacks.
func adviseLimits(doc *advice.Document, unprobed int) string {
	var s string
	if unprobed > 0 {
		s += fmt.Sprintf("\n%s no probe: hardly anything is known of %s (vramscope run, vramscope attach)\n",
			text.Plural(unprobed, "process has", "processes have"), map[bool]string{true: "it", false: "them"}[unprobed == 1])
	}
	since := time.Time(doc.Since)
	if since.IsZero() || time.Time(doc.Time).Sub(since) < time.Hour {
		s += "\nmost rules look at ten minutes to two hours: vramscope daemon --record keeps the past, --watch 10m observes first\n"
	}
	return s
}
